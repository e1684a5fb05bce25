"""What every answer says beside its content: what its page may load and do, who may keep it, and what it depends on.

A view that needs another policy has a decorator of django-csp, and one that needs a stronger `Cache-Control` sets it.
"""

from csp.middleware import CSPMiddleware, PolicyParts
from django.http import FileResponse, HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.cache import patch_vary_headers

# What is no page loads nothing, even if somebody opens it as one.
DATA = {"default-src": ["'none'"], "frame-ancestors": ["'none'"]}
# What Django's pages need beside what ours do, which are in CONTENT_SECURITY_POLICY.
ADMINISTRATION = {"script-src": ["'self'"]}
# There is no word for "all": these are the features that browsers let a page use without a question, or ask people for.
FEATURES = (
    "accelerometer", "autoplay", "browsing-topics", "camera", "clipboard-read", "clipboard-write",
    "display-capture", "encrypted-media", "fullscreen", "gamepad", "geolocation", "gyroscope", "hid",
    "identity-credentials-get", "idle-detection", "keyboard-map", "local-fonts", "magnetometer", "microphone", "midi",
    "otp-credentials", "payment", "picture-in-picture", "publickey-credentials-create", "publickey-credentials-get",
    "screen-wake-lock", "serial", "storage-access", "sync-xhr", "usb", "window-management", "xr-spatial-tracking",
)  # fmt: skip
PERMISSIONS = ", ".join(f"{feature}=()" for feature in FEATURES)
# Kept by browsers alone, which ask each time whether it is still so: the ETags of REST spare the body then.
ASK_AGAIN = "private, no-cache"


class Headers(CSPMiddleware):
    """Stands before all that may answer. Files are for everybody, and keep the headers that they have."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Add what the answer does not say itself."""
        if isinstance(response, FileResponse):
            return response
        if is_page(response):
            response.setdefault("Permissions-Policy", PERMISSIONS)
        if request.path.startswith("/api/"):
            patch_vary_headers(response, ("Authorization", "Accept"))  # Cookie is there if the session was asked
        response.setdefault("Cache-Control", ASK_AGAIN)
        return super().process_response(request, response)

    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        """The policy of pages with what its view adds, that of the administration, or that of data."""
        if not is_page(response):
            return PolicyParts(config=DATA)
        parts = super().get_policy_parts(request, response, report_only)
        if request.path.startswith(reverse("admin:index")):
            parts.update = ADMINISTRATION
        return parts


def is_page(response: HttpResponseBase) -> bool:
    """Whether a browser shows it as a page."""
    return response.get("Content-Type", "").startswith("text/html")
