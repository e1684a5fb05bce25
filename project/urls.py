"""The addresses of the site: the administration, the REST API, the pages, signing in and out, error pages."""

from django.contrib import admin
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LogoutView
from django.urls import include, path
from django.views.generic import RedirectView

from project.lab.page import numbers
from tickets.accounts.sign_in import limited
from tickets.accounts.views import SignIn
from tickets.error_pages import problems

urlpatterns = [
    path("api/", include("tickets.api.urls")),  # first, as Django tries one after the other
    path("admin/login/", limited(admin.site.login)),
    # Our page counts wrong passwords; the administration's does not.
    path("admin/password_change/", RedirectView.as_view(pattern_name="accounts:password")),
    path("admin/", admin.site.urls),
    path("login/", limited(SignIn.as_view()), name="login"),
    path("numbers/", numbers, name="numbers"),
    path("logout/", login_not_required(LogoutView.as_view()), name="logout"),
    path("problems/", problems, name="problems"),
    path("", include("tickets.accounts.urls")),
    path("", include("tickets.sales.urls")),
    path("", include("tickets.urls")),
]

handler400 = handler403 = handler404 = "tickets.error_pages.error_page"
handler500 = "tickets.error_pages.server_error"
