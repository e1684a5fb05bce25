"""The addresses of the API about orders and invoices, below /api/."""

from django.urls import path

from tickets.sales import converters  # noqa: F401 - the import registers the converters
from tickets.sales.api import views

urlpatterns = [
    path("orders/", views.OrderList.as_view(), name="order_list"),
    path("orders/<any_order:number>/", views.OrderDetail.as_view(), name="order"),
    path("orders/<any_order:number>/invoice/", views.OrderInvoice.as_view(), name="order_invoice"),
    path("orders/<any_order:number>/invoice/issue/", views.OrderInvoiceIssue.as_view(), name="order_invoice_issue"),
    path("invoices/", views.InvoiceList.as_view(), name="invoice_list"),
    path("invoices/<str:text>/", views.InvoiceDetail.as_view(), name="invoice"),
    path("invoices/<str:text>/void/", views.InvoiceVoid.as_view(), name="invoice_void"),
]
