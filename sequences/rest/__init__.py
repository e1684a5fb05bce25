"""Parts for a REST API, for Django REST framework: an optional part of the app, installed with the extra `rest`.

    answers       errors as `application/problem+json`
    cursors       signed positions in a list
    fields        serializer fields for numbers, texts and dates
    idempotency   the headers of repeated requests
    pages         pages of a list, with the addresses of those beside them
    problems      what each error means for who sent the request
    request_ids   an id for each request, which its answer and its lines of the log carry
    views         a view that hands out values of a sequence

The core of `sequences` imports none of it.
"""
