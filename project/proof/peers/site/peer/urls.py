"""The addresses of the peer, the same as those of `tickets.api`."""

from django.urls import path
from rest_framework.authtoken.views import obtain_auth_token

from .views import ProjectList, TicketDetail, TicketList

urlpatterns = [
    path("api/auth/token/", obtain_auth_token),
    path("api/projects/", ProjectList.as_view()),
    path("api/projects/<str:project>/tickets/", TicketList.as_view()),
    path("api/tickets/<str:project>-<int:number>/", TicketDetail.as_view()),
]
