"""The addresses of the pages. Keys have capital letters only, so no project can hide another page."""

from django.urls import path

from tickets import converters, views  # noqa: F401 - the import registers the converters of keys

app_name = "tickets"

urlpatterns = [
    path("", views.project_list, name="project_list"),
    path("projects/new/", views.project_new, name="project_new"),
    path("<project_key:key>/", views.project, name="project"),
    path("<project_key:key>/edit/", views.project_edit, name="project_edit"),
    path("<project_key:key>/new/", views.ticket_new, name="ticket_new"),
    path("<ticket_key:key>/", views.ticket, name="ticket"),
    path("<ticket_key:key>/edit/", views.ticket_edit, name="ticket_edit"),
    path("<ticket_key:key>/move/", views.ticket_move, name="ticket_move"),
    path("<ticket_key:key>/void/", views.ticket_void, name="ticket_void"),
]
