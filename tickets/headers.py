"""What every answer says beside its content: what its page may load and do, who may keep it, and what it depends on.

The policy of pages is CONTENT_SECURITY_POLICY. A view that needs another one has a decorator of django-csp, and one
that needs a stronger `Cache-Control` sets it.
"""

from csp.constants import HEADER
from csp.middleware import CSPMiddleware
from django.http import FileResponse, HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

# What is no page loads nothing, even if somebody opens it as one.
DATA = "default-src 'none'; frame-ancestors 'none'"
# There is no word for "all": these are the features that browsers let a page use without a question, or ask people for.
FEATURES = (
    "accelerometer", "autoplay", "browsing-topics", "camera", "clipboard-read",
    "display-capture", "encrypted-media", "fullscreen", "gamepad", "geolocation", "gyroscope", "hid",
    "identity-credentials-get", "idle-detection", "keyboard-map", "local-fonts", "magnetometer", "microphone", "midi",
    "otp-credentials", "payment", "picture-in-picture", "publickey-credentials-create", "publickey-credentials-get",
    "screen-wake-lock", "serial", "storage-access", "sync-xhr", "usb", "window-management", "xr-spatial-tracking",
)  # fmt: skip
# A page may copy the key of a ticket, and nothing else.
PERMISSIONS = ", ".join(["clipboard-write=(self)", *(f"{feature}=()" for feature in FEATURES)])
# Kept by browsers alone, which ask each time whether it is still so: the ETags of REST spare the body then.
ASK_AGAIN = "private, no-cache"


class Headers(CSPMiddleware):
    """Stands before all that may answer. Files are for everybody, and keep the headers that they have."""

    def process_request(self, request: HttpRequest) -> None:
        """Make no nonce: no page has one, and it would hold the request in a circle."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Add what the answer does not say itself."""
        if isinstance(response, FileResponse):
            return response
        if request.path.startswith("/api/"):
            patch_vary_headers(response, ("Authorization", "Accept"))  # Cookie is there if the session was asked
        response.setdefault("Cache-Control", ASK_AGAIN)
        if not is_page(response):
            response.setdefault(HEADER, DATA)
            return response
        response.setdefault("Permissions-Policy", PERMISSIONS)
        patch_vary_headers(response, ("HX-Request",))  # htmx gets a page without what surrounds its content
        return super().process_response(request, response)


def is_page(response: HttpResponseBase) -> bool:
    """Whether a browser shows it as a page."""
    return response.get("Content-Type", "").startswith("text/html")
