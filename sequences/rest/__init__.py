"""Parts for a REST API, for Django REST framework: an optional part of the app, installed with the extra `rest`.

The core of `sequences` imports none of it.
"""
