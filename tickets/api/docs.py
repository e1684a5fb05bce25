"""The page that shows the API, in the site's own frame."""

from typing import Any

from django.contrib.auth.views import redirect_to_login
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.request import Request


class ApiDocs(SpectacularSwaggerSplitView):
    """The operations with their shapes, to read and to try. Who is not signed in is asked to, and comes back."""

    http_method_names = ["get", "head", "options"]
    template_name = "tickets/api_docs.html"

    def permission_denied(self, request: Request, message: str | None = None, code: str | None = None) -> Any:
        if not request.user.is_authenticated:
            raise SignInFirst
        super().permission_denied(request, message, code)

    def handle_exception(self, exc: Exception) -> Any:
        """Ask for a sign-in on a page, as this address is read by people."""
        if isinstance(exc, SignInFirst):
            return redirect_to_login(self.request.get_full_path())
        return super().handle_exception(exc)


class SignInFirst(Exception):
    """The page is for people who are signed in."""
