"""The settings for production: HTTPS only, and no generated secrets.

`SECRET_KEY`, `ALLOWED_HOSTS` and `DATABASE_URL` must be set in the environment. boto3 finds DynamoDB's Region and
credentials itself.
Behind a proxy that speaks HTTPS, set `FORWARDED_ALLOW_IPS` to the proxy's address: the web server then trusts the
`X-Forwarded-Proto` of this proxy only.
"""

from project import environment
from project.settings.base import *
from project.settings.base import STORAGES

SECRET_KEY = environment.required("SECRET_KEY", "set it to 50 or more random characters, and keep them")
environment.required("ALLOWED_HOSTS", "name the site's hosts, with commas between them")
ALLOWED_HOSTS = environment.words("ALLOWED_HOSTS")
CSRF_TRUSTED_ORIGINS = environment.words("TRUSTED_ORIGINS")
# Accounts that are lost with a machine are no default.
environment.required("DATABASE_URL", "name the database of the accounts, as postgres://user:password@host/tickets")

SECURE_SSL_REDIRECT = True
SECURE_HSTS_SECONDS = 365 * 24 * 3600
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
SECURE_HSTS_PRELOAD = True
SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True

STORAGES["staticfiles"] = {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"}
