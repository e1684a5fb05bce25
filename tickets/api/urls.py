"""The addresses of the API, below /api/."""

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.authtoken.views import obtain_auth_token

from tickets import converters  # noqa: F401 - the import registers the converters of keys
from tickets.api import views

app_name = "api"

urlpatterns = [
    path("auth/token/", obtain_auth_token, name="token"),
    path("projects/", views.ProjectList.as_view(), name="project_list"),
    path("projects/<project_key:key>/", views.ProjectDetail.as_view(), name="project"),
    path("projects/<project_key:key>/tickets/", views.TicketList.as_view(), name="ticket_list"),
    path("tickets/<ticket_key:key>/", views.TicketDetail.as_view(), name="ticket"),
    path("tickets/<ticket_key:key>/move/", views.TicketMoving.as_view(), name="ticket_move"),
    path("", include("tickets.sales.api.urls")),
    path("sequences/", views.SequenceList.as_view(), name="sequence_list"),
    path("sequences/<str:name>/", views.SequenceDetail.as_view(), name="sequence"),
    path("sequences/<str:name>/next/", views.SequenceNext.as_view(), name="sequence_next"),
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    path("docs/", SpectacularSwaggerSplitView.as_view(url_name="api:schema"), name="docs"),
]
