"""The entry point for a WSGI server: the whole site as one callable."""

import gc
import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings.development")

application = get_wsgi_application()
get_resolver().url_patterns  # noqa: B018 - load the views now, not with the first request

# What is loaded stays for ever. The garbage collector need not look through it again, and need not run so often.
gc.collect()
gc.freeze()
gc.set_threshold(20_000)
