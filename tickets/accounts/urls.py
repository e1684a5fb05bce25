"""The addresses of the pages of API tokens, and of a person's password."""

from django.urls import path

from tickets.accounts import views

app_name = "accounts"

urlpatterns = [
    path("tokens/", views.token_list, name="tokens"),
    path("tokens/new/", views.token_new, name="token_new"),
    path("tokens/<int:number>/revoke/", views.token_revoke, name="token_revoke"),
    path("password/", views.PasswordChange.as_view(), name="password"),
]
