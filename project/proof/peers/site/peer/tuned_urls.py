"""The addresses of the tuned peer, the same as the peer's."""

from django.urls import path
from rest_framework.authtoken.views import obtain_auth_token

from .tuned_views import TicketDetail, TicketList
from .views import ProjectList

urlpatterns = [
    path("api/auth/token/", obtain_auth_token),
    path("api/projects/", ProjectList.as_view()),
    path("api/projects/<str:project>/tickets/", TicketList.as_view()),
    path("api/tickets/<str:project>-<int:number>/", TicketDetail.as_view()),
]
