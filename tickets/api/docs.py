"""The document of the API, and the page that shows it in the site's own frame."""

from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response

_kept: dict[str, HttpResponse] = {}


class ApiDocument(SpectacularAPIView):
    """The document of the API. It is the same for everybody, so each process makes it once in each of its forms."""

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        """Answer with what is kept, unless another language or version is asked for."""
        form: str = request.accepted_renderer.media_type
        if request.query_params.keys() - {"format"}:
            return super().get(request, *args, **kwargs)  # type: ignore[no-any-return, no-untyped-call]
        if kept := _kept.get(form):
            return HttpResponse(kept.content, headers=kept.headers)
        made: Response = super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call]
        made.add_post_render_callback(_keep)
        return made


def _keep(response: Response) -> None:
    """Keep the content of an answer with what says how it is written, and nothing about its request."""
    headers = {name: response[name] for name in ("Content-Type", "Content-Disposition")}
    _kept[response.accepted_renderer.media_type] = HttpResponse(response.content, headers=headers)


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
