"""The addresses of the pages. Keys have capital letters only; other spellings of them lead there."""

from django.urls import path, re_path

from tickets import converters, project_views, views  # noqa: F401 - the import registers the converters of keys
from tickets.addresses import ANY_SPELLING, other_spelling
from tickets.forms import ProgressForm
from tickets.timeline import views as timeline

app_name = "tickets"
COMMENT = "<ticket_key:key>/comments/<number:number>/"

urlpatterns = [
    path("", project_views.project_list, name="project_list"),
    path("find/", views.find, name="find"),
    path("find/mine/", views.mine, name="mine"),
    path("preview/", views.preview, name="preview"),
    path("projects/new/", project_views.project_new, name="project_new"),
    path("<project_key:key>/", project_views.project, name="project"),
    path("<project_key:key>/edit/", project_views.project_edit, name="project_edit"),
    path("<project_key:key>/archive/", project_views.project_archive, {"archived": True}, name="project_archive"),
    path("<project_key:key>/unarchive/", project_views.project_archive, {"archived": False}, name="project_unarchive"),
    path("<project_key:key>/members/", project_views.project_members, name="project_members"),
    path("<project_key:key>/members/change/", project_views.project_member, name="project_member"),
    path("<project_key:key>/new/", views.ticket_new, name="ticket_new"),
    path("<ticket_key:key>/", views.ticket, name="ticket"),
    path("<ticket_key:key>/edit/", views.ticket_edit, name="ticket_edit"),
    path("<ticket_key:key>/progress/", views.ticket_edit, {"form_class": ProgressForm}, name="ticket_progress"),
    path("<ticket_key:key>/move/", views.ticket_move, name="ticket_move"),
    path("<ticket_key:key>/void/", views.ticket_void, name="ticket_void"),
    path("<ticket_key:key>/restore/", timeline.ticket_restore, name="ticket_restore"),
    path("<ticket_key:key>/comments/", timeline.ticket_comment, name="ticket_comment"),
    path(f"{COMMENT}edit/", timeline.comment_edit, name="comment_edit"),
    path(f"{COMMENT}withdraw/", timeline.comment_edit, {"withdrawn": True}, name="comment_withdraw"),
    re_path(f"^{ANY_SPELLING}$", other_spelling),  # last, so that no project hides another page
]
