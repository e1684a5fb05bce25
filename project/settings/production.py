"""The settings for production: HTTPS only, and no generated secrets.

`SECRET_KEY`, `ALLOWED_HOSTS` and `DATABASE_URL` must be set in the environment. boto3 finds DynamoDB's Region and
credentials itself.
Behind a proxy that speaks HTTPS, set `FORWARDED_ALLOW_IPS` to the proxy's address: the web server then trusts the
`X-Forwarded-Proto` of this proxy only.
"""

import os

from project import environment

environment.refuse_faults(production=True)  # all at once, before one of them is met

from project.settings.base import *  # noqa: E402
from project.settings.base import STORAGES  # noqa: E402

SECRET_KEY = environment.secret_key()
ALLOWED_HOSTS = environment.allowed_hosts()
CSRF_TRUSTED_ORIGINS = environment.trusted_origins()

SECURE_SSL_REDIRECT = True
SECURE_HSTS_SECONDS = 365 * 24 * 3600
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
SECURE_HSTS_PRELOAD = True
SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True
# Former keys, whose sessions and cursors still count.
SECRET_KEY_FALLBACKS = os.environ.get("SECRET_KEY_FALLBACKS", "").split()

STORAGES["staticfiles"] = {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"}
