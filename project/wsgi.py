"""The entry point for a WSGI server: the whole site as one callable."""

import codecs
import gc
import io
import os
import re
from typing import Any

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver
from django.utils.http import parse_header_parameters

from sequences.start import load

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings.development")

gc.disable()  # what is loaded stays: to look for garbage in it takes a tenth of the start

site = get_wsgi_application()

CHARSETS = {"utf-8", "utf-16", "utf-32", "ascii", "iso8859-1", "cp1252"}
"""Those of requests. With others that Python knows, such as hex, Django reads no address, and has no answer to that."""


def application(environ: dict[str, Any], start_response: Any) -> Any:
    """The site. It gets a charset that it can read, and a chunked body with the length that Django needs."""
    if "CONTENT_TYPE" in environ:
        environ["CONTENT_TYPE"] = readable(environ["CONTENT_TYPE"])
    if "HTTP_TRANSFER_ENCODING" in environ and environ.get("wsgi.input_terminated"):
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = environ["wsgi.input"].read(-1 if most is None else most + 1)
        environ["wsgi.input"], environ["CONTENT_LENGTH"] = io.BytesIO(body), str(len(body))
    return site(environ, start_response)


def readable(content_type: str) -> str:
    """A media type without its charset if that is none of CHARSETS: as a parameter of another name it means nothing."""
    if "charset" not in content_type.lower():
        return content_type
    try:
        known = codecs.lookup(parse_header_parameters(content_type)[1].get("charset", "utf-8")).name in CHARSETS
    except (LookupError, ValueError):
        known = False
    return content_type if known else re.sub("charset", "unread", content_type, flags=re.IGNORECASE)


# Now, not with the first request: all workers share what is loaded.
load()
get_resolver().url_patterns  # noqa: B018 - the views

# What is loaded stays for ever. The garbage collector need not look through it again, and need not run so often.
gc.freeze()
gc.set_threshold(20_000)
gc.enable()
