"""The settings for production: HTTPS only, and no generated secrets.

`SECRET_KEY` and `ALLOWED_HOSTS` must be set in the environment. boto3 finds DynamoDB's Region and credentials itself.
Behind a proxy that speaks HTTPS, set `FORWARDED_ALLOW_IPS` to the proxy's address: gunicorn then trusts the
`X-Forwarded-Proto` of this proxy only.
"""

import os

from django.core.exceptions import ImproperlyConfigured

from project import environment
from project.settings.base import *
from project.settings.base import STORAGES

SECRET_KEY = os.environ.get("SECRET_KEY", "")
if not SECRET_KEY:
    raise ImproperlyConfigured("SECRET_KEY is not set: set it to 50 or more random characters, and keep them.")

ALLOWED_HOSTS = environment.words("ALLOWED_HOSTS")
if not ALLOWED_HOSTS:
    raise ImproperlyConfigured("ALLOWED_HOSTS is not set: name the site's hosts, with commas between them.")

SECURE_SSL_REDIRECT = True
SECURE_HSTS_SECONDS = 365 * 24 * 3600
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
SECURE_HSTS_PRELOAD = True
SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True

STORAGES["staticfiles"] = {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"}
