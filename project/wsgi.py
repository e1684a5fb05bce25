"""The entry point for a WSGI server: the whole site as one callable."""

import gc
import io
import os
from typing import Any

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings.development")

gc.disable()  # what is loaded stays: to look for garbage in it takes a tenth of the start

site = get_wsgi_application()


def application(environ: dict[str, Any], start_response: Any) -> Any:
    """The site. It gets a chunked body with its length, because Django reads no body without one."""
    if "HTTP_TRANSFER_ENCODING" in environ and environ.get("wsgi.input_terminated"):
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = environ["wsgi.input"].read(-1 if most is None else most + 1)
        environ["wsgi.input"], environ["CONTENT_LENGTH"] = io.BytesIO(body), str(len(body))
    return site(environ, start_response)


get_resolver().url_patterns  # noqa: B018 - load the views now, not with the first request

# What is loaded stays for ever. The garbage collector need not look through it again, and need not run so often.
gc.collect()
gc.freeze()
gc.set_threshold(20_000)
gc.enable()
