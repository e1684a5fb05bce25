"""The settings that development and production share. This file reads the environment only.

boto3 reads `AWS_ENDPOINT_URL_DYNAMODB` and the credentials itself, under its own names.
"""

import os
from pathlib import Path
from typing import Any

from project import environment, logs
from project.paths import LOCAL, ROOT

# Without DEBUG, pages never show a stack trace.
DEBUG = environment.debug()

SEQUENCES: dict[str, dict[str, Any]] = {
    "tickets": {
        "STRATEGY": "sequences.strategies.sort_key.SortKeyMaximum",
        "TABLE": "tickets",
        "MAXIMUM": 10**15 - 1,  # the address of a ticket has at most 15 digits
        "OPTIONS": {
            "partition": "{scope}",
            "scope_must_exist": True,
            "time_name": "created_at",
            "ignore_in_repeat": ["created_at", "updated_at"],
            "scopes": "tickets.selectors.list_scopes",
        },
    },
    # The comments and changes of each ticket. The key of a project has no "#", so that the partitions never meet.
    "timeline": {
        "STRATEGY": "sequences.strategies.sort_key.SortKeyMaximum",
        "TABLE": "tickets",
        "MAXIMUM": 10**15 - 1,
        "OPTIONS": {
            "partition": "{scope}#",
            "time_name": "at",
            "ignore_in_repeat": ["at", "changes", "values"],
            "scopes": "tickets.timeline.selectors.list_scopes",
        },
    },
    # Orders, invoices, their counters and their markers share a table, so that a restore of it is consistent.
    "orders": {
        "STRATEGY": "sequences.strategies.atomic.AtomicCounter",
        "TABLE": "sales",
        "START": 1001,
        "MAXIMUM": 10**15 - 1,  # the address of an order has at most 15 digits
        "FORMAT": "ORD-{value}",
        "SERIES": "sequences",
        "OPTIONS": {
            "counter_table": "sales",
            "text_name": "text",
            "ignore_in_repeat": ["created_at"],
        },
    },
    "invoices": {
        "STRATEGY": "sequences.strategies.transactional.TransactionalCounter",
        "TABLE": "sales",
        "PERIOD": "year",
        "FORMAT": "INV-{period}-{value:06d}-{check:damm}",
        "SERIES": "sequences",
        "DIGEST": "digest",
        "OPTIONS": {
            "counter_table": "sales",
            "partition": "{sequence}#{period}#{scope}",  # the page of a year reads it: no rule changes PERIOD
            "text_name": "text",
        },
    },
}
# While DynamoDB hangs, threads are needed for what needs no store. A call tries twice, as a connection may be dead.
HASTE = {"READ_TIMEOUT": 1.5, "REFUSE_AFTER": 2.0}
SEQUENCES_CLIENTS = {"default": {"LEAN": environment.sends_by() == "lean", **HASTE}}
SEQUENCES_DELETABLE = {"tickets": ["*#members", "@*", "#open"]}  # members and lists of projects, but no tickets
SILENCED_SYSTEM_CHECKS = ["sequences.W003"]  # see "timeline"
TABLE_PREFIX = os.environ.get("TABLE_PREFIX", "")

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django_htmx",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "sequences",
    "tickets",
    "tickets.accounts",
    "project.lab",
]
MIDDLEWARE = [
    "tickets.health.Health",
    "tickets.metrics.Metrics",
    # First, so that the lines of all others have the id of the request.
    "sequences.rest.request_ids.RequestIds",
    "tickets.middleware.AccessLog",
    "tickets.middleware.HeadWithoutBody",
    "tickets.middleware.Compression",
    "tickets.headers.Headers",
    "django_htmx.middleware.HtmxMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "tickets.accounts.middleware.Limits",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "tickets.middleware.Unchanged",
    # From here to its end, what programs do not need.
    "tickets.middleware.Bypass",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    # Pages are for signed-in people only; views that are not say so themselves.
    "tickets.accounts.middleware.SignInFirst",
    "django.contrib.messages.middleware.MessageMiddleware",
    "tickets.middleware.ErrorPages",
    "tickets.middleware.InPlace",
    "tickets.middleware.bypass_end",
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

DATABASES = {"default": environment.database(f"sqlite:///{LOCAL / 'web.sqlite3'}")}
# All processes of all machines see this cache, and it needs no further service. It has throttles, and forms that were
# sent.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "cache",
        "OPTIONS": {"MAX_ENTRIES": 10_000},
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Otherwise it takes the permission `tickets.add_project`.
EVERYBODY_MAY_ADD_PROJECTS = environment.everybody_may_add_projects()
# The scopes of each sequence in which values may be taken over REST, besides those without a scope.
REST_SCOPES: dict[str, list[str]] = {}

# What pages may load, send and be shown in. Pico's drawings of form fields are in its style sheet, as data.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "connect-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
    }
}
CSRF_FAILURE_VIEW = "tickets.error_pages.csrf_failure"
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
STATIC_ROOT: Path | None = LOCAL / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedStaticFilesStorage"},
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        # The first class decides the answer to a request without credentials: 401, not 403.
        "tickets.api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["tickets.api.permissions.Door"],
    "DEFAULT_RENDERER_CLASSES": ["tickets.api.bodies.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["tickets.api.bodies.JSONParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "tickets.api.bodies.Negotiation",
    "DEFAULT_SCHEMA_CLASS": "tickets.api.schema.Document",
    "DEFAULT_THROTTLE_CLASSES": ["tickets.accounts.api.throttling.UserThrottle"],
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
    "EXCEPTION_HANDLER": "tickets.api.exceptions.exception_handler",
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000_000  # bytes of a body
THROTTLES = {
    "user": "6000/minute",  # requests to the API of an account; heavy ones, also pages, count more
    "address": "300/minute",  # tokens of an address that a process does not know yet
    "tokens": "5/minute",  # new tokens of an account over REST
    "sign-in": "5/minute",  # sign-ins with a name from an address that fail
    "sign-in-address": "50/minute",  # those from an address, with any name
    "sign-in-name": "50/minute",  # those with a name, from anywhere
}
HEAVY_AT_ONCE: int | None = 2  # searches, exports or sign-ins of a caller in a process; None: as many as they want
if not environment.throttles():
    THROTTLES, HEAVY_AT_ONCE = {}, None
PROXIES = environment.proxies()  # which stand before the site, and add to X-Forwarded-For
API_TOKEN_DAYS: int | None = 90  # for so long a new token opens the API, unless its person chooses
API_TOKEN_MOST_DAYS: int | None = 365  # None: for ever, too
TOKEN_SECONDS = 10  # for so long a process remembers a token and its account
SPECTACULAR_SETTINGS = {
    "TITLE": "Tickets",
    "DESCRIPTION": "Tickets that are numbered per project, without gaps and without duplicates.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "POSTPROCESSING_HOOKS": ["drf_spectacular.hooks.postprocess_schema_enums", "tickets.api.schema.completed"],
    "COMPONENT_SPLIT_PATCH": False,  # each shape says itself what may be left out
    "ENUM_NAME_OVERRIDES": {
        "ChosenStatus": "tickets.validators.STATUSES.values",
        "Opening": "tickets.validators.OPENINGS.values",
        "Role": "tickets.validators.ROLES.values",
    },
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
}

METRICS_TOKEN = os.environ.get("METRICS_TOKEN", "").strip()  # who sends it as Bearer may read /metrics
SEQUENCES_METRICS = ["sequences.metrics.prometheus.Prometheus"] if METRICS_TOKEN else []

ACCESS_LOG_QUIET: set[str] = set()  # `tickets.health` answers before the log
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "request_id": {"()": "sequences.rest.request_ids.RequestIdFilter"},
        "faults": {"()": "django.utils.log.CallbackFilter", "callback": logs.is_fault},
    },
    "formatters": logs.FORMATTERS,
    "handlers": {
        "stderr": {"class": "logging.StreamHandler", "formatter": environment.log_format(), "filters": ["request_id"]}
    },
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        # Otherwise Django uses its own handlers, and mails the administrators.
        "django": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
        # The access log has a line for what clients do wrong, such as a wrong Host, and for each answer.
        "django.request": {"level": "ERROR", "filters": ["faults"]},
        "django.security.DisallowedHost": {"level": "CRITICAL"},
        "django.security.RequestDataTooBig": {"level": "CRITICAL"},  # a traceback that anybody could cause
        "sequences": {"level": "INFO"},
        "tickets": {"level": "INFO"},
    },
}
