"""The addresses of the API about a ticket's timeline, below the ticket's own."""

from django.urls import path

from tickets import converters  # noqa: F401 - the import registers the converters of keys
from tickets.timeline.api import views

urlpatterns = [
    path("comments/", views.CommentList.as_view(), name="comment_list"),
    path("comments/<event_number:number>/", views.CommentDetail.as_view(), name="comment"),
    path("history/", views.History.as_view(), name="history"),
]
