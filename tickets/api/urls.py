"""The addresses of the API, below /api/."""

from django.urls import path, re_path

from tickets.accounts.api import views as accounts
from tickets.addresses import ANY_SPELLING, other_spelling
from tickets.api import docs, projects, sequences, tickets
from tickets.sales import converters  # noqa: F401 - the import registers the converters of keys and numbers
from tickets.sales.api import views as sales
from tickets.timeline.api import views as timeline

app_name = "api"

urlpatterns = [
    path("projects/<project_key:key>/tickets/", tickets.TicketList.as_view(), name="ticket_list"),
    path("tickets/<ticket_key:key>/", tickets.TicketDetail.as_view(), name="ticket"),
    path("auth/token/", accounts.SignIn.as_view(), name="token"),
    path("auth/tokens/", accounts.TokenList.as_view(), name="token_list"),
    path("auth/tokens/<int:number>/", accounts.TokenDetail.as_view(), name="token_detail"),
    path("projects/", projects.ProjectList.as_view(), name="project_list"),
    path("projects/<project_key:key>/", projects.ProjectDetail.as_view(), name="project"),
    path("projects/<project_key:key>/archive/", projects.ProjectArchive.as_view(), name="project_archive"),
    path(
        "projects/<project_key:key>/unarchive/",
        projects.ProjectArchive.as_view(archived=False),
        name="project_unarchive",
    ),
    path("projects/<project_key:key>/members/", projects.MemberList.as_view(), name="member_list"),
    path("projects/<project_key:key>/members/<str:user>/", projects.MemberDetail.as_view(), name="member"),
    path("projects/<project_key:key>/tickets.csv", tickets.TicketExport.as_view(), name="ticket_export"),
    path("projects/<project_key:key>/tickets/bulk/", tickets.TicketBulk.as_view(), name="ticket_bulk"),
    path("tickets/<ticket_key:key>/move/", tickets.TicketMoving.as_view(), name="ticket_move"),
    path("tickets/<ticket_key:key>/restore/", tickets.TicketRestore.as_view(), name="ticket_restore"),
    path("tickets/<ticket_key:key>/comments/", timeline.CommentList.as_view(), name="comment_list"),
    path("tickets/<ticket_key:key>/comments/<number:number>/", timeline.CommentDetail.as_view(), name="comment"),
    path("tickets/<ticket_key:key>/history/", timeline.History.as_view(), name="history"),
    path("orders/", sales.OrderList.as_view(), name="order_list"),
    path("orders/<any_order:number>/", sales.OrderDetail.as_view(), name="order"),
    path("orders/<any_order:number>/invoice/", sales.OrderInvoice.as_view(), name="order_invoice"),
    path("orders/<any_order:number>/invoice/issue/", sales.OrderInvoiceIssue.as_view(), name="order_invoice_issue"),
    path("companies/", sales.CompanyList.as_view(), name="company_list"),
    path("invoices/", sales.InvoiceList.as_view(), name="invoice_list"),
    path("invoices/<path:text>/void/", sales.InvoiceVoid.as_view(), name="invoice_void"),
    path("invoices/<path:text>/", sales.InvoiceDetail.as_view(), name="invoice"),
    path("sequences/", sequences.SequenceList.as_view(), name="sequence_list"),
    path("sequences/<str:name>/", sequences.SequenceDetail.as_view(), name="sequence"),
    path("sequences/<str:name>/next/", sequences.SequenceNext.as_view(), name="sequence_next"),
    path("schema/", docs.ApiDocument.as_view(), name="schema"),
    path("docs/", docs.api_docs, name="docs"),
    path("", docs.Index.as_view(), name="index"),
    re_path(f"^(?:projects|tickets)/{ANY_SPELLING}$", other_spelling),
]
