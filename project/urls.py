"""The addresses of the site: the administration, the REST API, the pages, signing in and out, error pages."""

from django.contrib import admin
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("api/", include("tickets.api.urls")),
    path("login/", LoginView.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("", include("tickets.sales.urls")),
    path("", include("tickets.urls")),
]

handler400 = "tickets.views.bad_request"
handler403 = "tickets.views.permission_denied"
handler404 = "tickets.views.page_not_found"
handler500 = "tickets.views.server_error"
