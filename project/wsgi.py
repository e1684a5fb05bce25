"""The entry point for a WSGI server: the whole site as one callable."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings.development")

application = get_wsgi_application()
