"""People and programs that sign in: API tokens, and how often anybody may try.

tokens      the texts of tokens: made, checked, hashed
models      the stored tokens, which know no secrets
validators  the limits of a token's fields
services    makes and revokes tokens
selectors   finds tokens
throttles   how many requests a caller may send, counted by all processes together
heavy       searches, exports and sign-ins: what they count, and how many are under way at once
sign_in     the limits of sign-ins by password, and the log of those that fail
middleware  refuses large bodies, and says in headers how many requests are left
views       the pages: signing in, tokens, another password
api/        REST
"""
