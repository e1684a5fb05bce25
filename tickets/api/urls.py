"""The addresses of the API, below /api/."""

from django.urls import include, path, re_path

from tickets import converters  # noqa: F401 - the import registers the converters of keys
from tickets.addresses import ANY_SPELLING, other_spelling
from tickets.api import docs, members, projects, sequences, tickets
from tickets.api.index import Index

app_name = "api"

urlpatterns = [
    path("auth/", include("tickets.accounts.api.urls")),
    path("projects/", projects.ProjectList.as_view(), name="project_list"),
    path("projects/<project_key:key>/", projects.ProjectDetail.as_view(), name="project"),
    path("projects/<project_key:key>/archive/", projects.ProjectArchive.as_view(), name="project_archive"),
    path("projects/<project_key:key>/unarchive/", projects.ProjectUnarchive.as_view(), name="project_unarchive"),
    path("projects/<project_key:key>/members/", members.MemberList.as_view(), name="member_list"),
    path("projects/<project_key:key>/members/<str:user>/", members.MemberDetail.as_view(), name="member"),
    path("projects/<project_key:key>/tickets/", tickets.TicketList.as_view(), name="ticket_list"),
    path("projects/<project_key:key>/tickets.csv", tickets.TicketExport.as_view(), name="ticket_export"),
    path("projects/<project_key:key>/tickets/bulk/", tickets.TicketBulk.as_view(), name="ticket_bulk"),
    path("tickets/<ticket_key:key>/", tickets.TicketDetail.as_view(), name="ticket"),
    path("tickets/<ticket_key:key>/move/", tickets.TicketMoving.as_view(), name="ticket_move"),
    path("tickets/<ticket_key:key>/restore/", tickets.TicketRestore.as_view(), name="ticket_restore"),
    path("tickets/<ticket_key:key>/", include("tickets.timeline.api.urls")),
    path("", include("tickets.sales.api.urls")),
    path("sequences/", sequences.SequenceList.as_view(), name="sequence_list"),
    path("sequences/<str:name>/", sequences.SequenceDetail.as_view(), name="sequence"),
    path("sequences/<str:name>/next/", sequences.SequenceNext.as_view(), name="sequence_next"),
    path("schema/", docs.ApiDocument.as_view(), name="schema"),
    path("docs/", docs.api_docs, name="docs"),
    path("", Index.as_view(), name="index"),
    re_path(f"^(?:projects|tickets)/{ANY_SPELLING}$", other_spelling),
]
