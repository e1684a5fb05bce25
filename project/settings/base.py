"""The settings that development and production share. This file reads the environment only.

boto3 reads `AWS_ENDPOINT_URL_DYNAMODB` and the credentials itself, under its own names.
"""

import os
from typing import Any

from project import environment
from project.paths import LOCAL, ROOT

# Without DEBUG, pages never show a stack trace.
DEBUG = environment.flag("DEBUG")

SEQUENCES: dict[str, dict[str, Any]] = {
    "tickets": {
        "STRATEGY": "sequences.strategies.sort_key.SortKeyMaximum",
        "TABLE": "tickets",
        "MAXIMUM": 10**15 - 1,  # the address of a ticket has at most 15 digits
        "OPTIONS": {
            "partition": "{scope}",
            "scope_must_exist": True,
            "ignore_in_repeat": ["created_at", "updated_at"],
            "scopes": "tickets.selectors.list_scopes",
        },
    },
    # Orders, invoices, their counters and their markers share a table, so that a restore of it is consistent.
    "orders": {
        "STRATEGY": "sequences.strategies.atomic.AtomicCounter",
        "TABLE": "sales",
        "START": 1001,
        "MAXIMUM": 10**15 - 1,  # the address of an order has at most 15 digits
        "FORMAT": "ORD-{value}",
        "OPTIONS": {
            "counter_table": "sales",
            "text_name": "text",
            "ignore_in_repeat": ["created_at"],
            "scopes": "tickets.sales.selectors.list_order_scopes",
        },
    },
    "invoices": {
        "STRATEGY": "sequences.strategies.transactional.TransactionalCounter",
        "TABLE": "sales",
        "PERIOD": "year",
        "FORMAT": "INV-{period}-{value:06d}-{check:damm}",
        "OPTIONS": {
            "counter_table": "sales",
            "text_name": "text",
            "scopes": "tickets.sales.selectors.list_invoice_scopes",
        },
    },
}
SEQUENCES_CLIENTS = {"default": {"LEAN": os.environ.get("SEQUENCES_CLIENT") != "boto3"}}
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
    # Pages are for signed-in people only; views that are not say so themselves.
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

DATABASES = {"default": environment.database(os.environ.get("DATABASE_URL") or f"sqlite:///{LOCAL / 'web.sqlite3'}")}
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
        # The first class decides the answer to a request without credentials: 401, not 403.
        "tickets.api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["tickets.api.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
    "EXCEPTION_HANDLER": "tickets.api.exceptions.exception_handler",
}
TOKEN_SECONDS = 10  # for so long a process remembers a token and its account
SPECTACULAR_SETTINGS = {
    "TITLE": "Tickets",
    "DESCRIPTION": "Tickets that are numbered per project, without gaps and without duplicates.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",  # the page works without the internet
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
        # Otherwise Django uses its own handlers, and mails the administrators.
        "django": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
        "sequences": {"level": "INFO"},
        "tickets": {"level": "INFO"},
    },
}
