"""The settings that development and production share. Neither reads anything but the environment.

``AWS_ENDPOINT_URL_DYNAMODB`` and the credentials are boto3's own names, which boto3 reads itself.
"""

import os
from pathlib import Path
from typing import Any

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

ROOT = Path(__file__).resolve().parent.parent
LOCAL = ROOT / ".local"


def environment_flag(name: str) -> bool:
    """A yes or no from the environment; no when it is not set."""
    word = os.environ.get(name, "").strip().lower()
    if word not in {"", "0", "false", "no", "off", "1", "true", "yes", "on"}:
        raise ImproperlyConfigured(f"{name} is {word!r}: set it to 1 or 0.")
    return word in {"1", "true", "yes", "on"}


def environment_list(name: str) -> list[str]:
    """The words between the commas of an environment variable; none when it is not set."""
    return [word.strip() for word in os.environ.get(name, "").split(",") if word.strip()]


def database(url: str) -> dict[str, Any]:
    """The Django database of a URL. SQLite is set up for many threads: writers wait, readers do not."""
    try:
        parsed = dict(dj_database_url.parse(url, conn_max_age=60, conn_health_checks=True))
    except ValueError as error:
        raise ImproperlyConfigured(f"DATABASE_URL is not a database address: {error}") from error
    if parsed["ENGINE"] == "django.db.backends.sqlite3":
        parsed["OPTIONS"] = {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        }
    return parsed


# People never see a stack trace unless somebody asks for it.
DEBUG = environment_flag("DEBUG")

SEQUENCES = {
    "tickets": {
        "STRATEGY": "sequences.strategies.sort_key.SortKeyMaximum",
        "TABLE": "tickets",
        "MAXIMUM": 10**15 - 1,  # as many digits as the address of a ticket has
        "OPTIONS": {
            "partition": "{scope}",
            "scope_must_exist": True,
            "ignore_in_repeat": ["created_at", "updated_at"],
            "scopes": "tickets.selectors.list_scopes",
        },
    },
    "orders": {"STRATEGY": "sequences.strategies.atomic.AtomicCounter", "START": 1001},
}
TABLE_PREFIX = os.environ.get("TABLE_PREFIX", "")

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "rest_framework.authtoken",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "sequences",
    "tickets",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    # Every page wants a signed-in person; the few that do not say so themselves.
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "tickets.middleware.ErrorPages",
]
ROOT_URLCONF = "project.urls"
WSGI_APPLICATION = "project.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DATABASES = {"default": database(os.environ.get("DATABASE_URL") or f"sqlite:///{LOCAL / 'web.sqlite3'}")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "login"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "static/"

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        # The first one decides how a call without credentials is answered: 401, not 403.
        "rest_framework.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
    "EXCEPTION_HANDLER": "tickets.api.exceptions.exception_handler",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Tickets",
    "DESCRIPTION": "Tickets that are numbered per project, without gaps and without duplicates.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",  # its page works without the network
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        # Without this Django writes to its own handlers, and mails the administrators.
        "django": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
        "sequences": {"level": "INFO"},
        "tickets": {"level": "INFO"},
    },
}
