"""The addresses of API tokens, below /api/auth/."""

from django.urls import path

from tickets.accounts.api import views

urlpatterns = [
    path("token/", views.SignIn.as_view(), name="token"),
    path("tokens/", views.TokenList.as_view(), name="token_list"),
    path("tokens/<int:number>/", views.TokenDetail.as_view(), name="token_detail"),
]
