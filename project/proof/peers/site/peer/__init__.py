"""The peer: the tickets' REST API as an ordinary application of Django REST framework on PostgreSQL.

It runs under the Python of `.local/peers`, where `sequences` is django-sequences. It has the addresses, the fields, the
token authentication and the log lines of `tickets.api`, and nothing else: no sessions, no pages, no administration.
It takes as few queries as it can: one for the token, one for a read, and two in a transaction for a new ticket.

The modules `tuned_*` are the same site, tuned as a good engineer would: tokens are kept for as long as ours keeps them,
orjson makes JSON of plain dicts, and there is no middleware. A serializer still checks what is sent, and a number and
its ticket are still one transaction.
"""
