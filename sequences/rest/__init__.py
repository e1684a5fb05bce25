"""Parts for a REST API, for Django REST framework: an optional part of the app, installed with the extra `rest`.

    problems       what every error means, by its row of `problem_table`: status, code, words, and what helps
    answers        errors as `application/problem+json` (RFC 9457): DRF's EXCEPTION_HANDLER
    request_ids    `X-Request-Id` in and out, and in every line of the log
    idempotency    the headers `Idempotency-Key` and `Idempotent-Replayed`
    cursors        signed positions in a list
    pages          pages of a list, with `Link`
    fields         a serializer field for numbers that every reader of JSON reads exactly
    views          the view that hands out the next values of a sequence

The core of `sequences` imports none of it.
"""
