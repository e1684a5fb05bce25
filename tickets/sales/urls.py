"""The addresses of the pages about orders and invoices."""

from django.urls import path

from tickets.sales import converters, views  # noqa: F401 - the import registers the converters

app_name = "sales"

urlpatterns = [
    path("orders/", views.order_list, name="order_list"),
    path("orders/new/", views.order_new, name="order_new"),
    path("orders/<order_number:number>/", views.order, name="order"),
    path("orders/<order_number:number>/draft/", views.order_draft, name="order_draft"),
    path("orders/<order_number:number>/issue/", views.order_issue, name="order_issue"),
    path("orders/<path:text>/", views.order_by_text, name="order_by_text"),
    path("invoices/", views.invoices, name="invoices"),
    path("invoices/<year:year>/", views.invoice_year, name="invoice_year"),
    path("invoices/companies/", views.company_list, name="company_list"),
    path("invoices/companies/new/", views.company_new, name="company_new"),
    path("invoices/<path:text>/void/", views.invoice_void, name="invoice_void"),
    path("invoices/<path:text>/", views.invoice, name="invoice"),
]
