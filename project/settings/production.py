"""The settings for production: HTTPS only, and nothing that was made up.

``SECRET_KEY`` and ``ALLOWED_HOSTS`` must come from the environment; DynamoDB's Region and credentials come to
boto3 by its own ways. Behind a proxy that speaks HTTPS, name the proxy's address in ``FORWARDED_ALLOW_IPS``:
gunicorn then believes its ``X-Forwarded-Proto``, and nobody else's.
"""

import os

from django.core.exceptions import ImproperlyConfigured

from project import environment
from project.paths import LOCAL
from project.settings.base import *

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

STATIC_ROOT = LOCAL / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
