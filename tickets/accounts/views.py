"""The sign-in page, the change of a password, and the pages of API tokens: the list, a new one, and revoking one."""

import logging
from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, PasswordChangeView
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from sequences.storage import new_token
from tickets.accounts import selectors, services
from tickets.accounts.forms import PasswordForm, TokenForm
from tickets.accounts.sign_in import begin, signed_in, too_many
from tickets.accounts.throttles import once
from tickets.kept_forms import kept_in, typed_in
from tickets.pages import FORM, form_page

MADE_ALREADY = (
    "This form has made its token already, which is not shown again. If you do not have it, revoke it and make another."
)

logger = logging.getLogger(__name__)


@method_decorator(login_not_required, name="dispatch")
class SignIn(LoginView):
    """The sign-in page. It keeps what was typed into another form, which can be sent after the sign-in."""

    redirect_authenticated_user = True

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Who has signed in meanwhile, as in another tab, can send at once what is kept."""
        if request.user.is_authenticated and (kept := kept_in(request)):
            return self._to_send(kept)
        return super().dispatch(request, *args, **kwargs)

    def get_redirect_url(self, *given: Any, **named: Any) -> str:
        """Where the address wants to lead; not here again, which Django takes for a loop."""
        wanted = super().get_redirect_url(*given, **named)
        return "" if wanted == self.request.path else wanted

    def get_context_data(self, **content: Any) -> dict[str, Any]:
        """Keep it, too, if the password is wrong."""
        return super().get_context_data(**content, kept=kept_in(self.request))

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Sign the person in, then go to where they wanted, or show what they wanted to send there."""
        response = super().form_valid(form)
        kept = kept_in(self.request)
        return self._to_send(kept) if kept else response

    def _to_send(self, kept: Sequence[tuple[str, str]]) -> HttpResponse:
        content = {"title": "You are signed in again", "typed": kept, "action": self.get_success_url()}
        return render(self.request, "error.html", content)


def sign_in_again(request: HttpRequest) -> HttpResponse:
    """The sign-in page in answer to a form that was sent without a session. It keeps what was typed."""
    content = {"form": AuthenticationForm(request), "next": request.get_full_path(), "kept": typed_in(request)}
    return render(request, "registration/login.html", content, status=403)


class PasswordChange(PasswordChangeView):
    """The form for another password. It ends all other sessions of the person; tokens stay, for the programs."""

    http_method_names = [method.lower() for method in FORM]
    form_class = PasswordForm
    success_url = reverse_lazy("accounts:tokens")
    template_name = "accounts/password.html"

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Change it, by the old one. Wrong ones are counted like other tries to sign in."""
        tried = begin(request, signed_in(request).get_username())
        request.verdicts = tried.verdicts  # type: ignore[attr-defined] # `middleware` makes headers of them
        if tried.wait:
            return too_many(request, tried.wait, "Too many passwords were wrong.")
        form = self.get_form()
        valid = form.is_valid()
        if "old_password" not in form.errors:
            tried.succeed()
        return self.form_valid(form) if valid else self.form_invalid(form)

    def form_valid(self, form: Any) -> HttpResponse:
        """Store it, and lead to the tokens, which may be in wrong hands, too."""
        response = super().form_valid(form)
        logger.info("%s changed the password.", form.user.get_username())
        messages.success(
            self.request,
            "Your password is changed, and you are signed out everywhere else. "
            "Your tokens stay: revoke those that you do not know.",
        )
        return response

    def form_invalid(self, form: Any) -> HttpResponse:
        """The form with what is wrong in it."""
        return self.render_to_response(self.get_context_data(form=form), status=400)


@require_safe
def token_list(request: HttpRequest) -> HttpResponse:
    """The tokens of the signed-in person."""
    return render(request, "accounts/tokens.html", {"tokens": selectors.list_tokens(signed_in(request))})


@never_cache
@require_http_methods([*FORM])
def token_new(request: HttpRequest) -> HttpResponse:
    """The form for a new token. Its first answer is the only page that ever shows the token."""
    form, person = TokenForm.typed(request) or TokenForm(), signed_in(request)
    if form.is_valid():
        with form.refusals(), once(f"token {person.pk} {form.one_time_token or new_token()}") as is_first:
            if not is_first:
                messages.warning(request, MADE_ALREADY)
                return redirect("accounts:tokens")
            token, text = services.make_token(person, **form.content)
            return render(request, "accounts/token_made.html", {"token": token, "text": text})
    return form_page(request, "accounts/token_new.html", form)


@require_http_methods([*FORM])
def token_revoke(request: HttpRequest, number: int) -> HttpResponse:
    """Asks, and then revokes a token of the signed-in person."""
    if request.method == "POST":
        token = services.revoke_token(signed_in(request), number)
        messages.success(request, f"The token “{token.name}” is revoked.")
        return redirect("accounts:tokens")
    return render(request, "accounts/token_revoke.html", {"token": selectors.get_token(signed_in(request), number)})
