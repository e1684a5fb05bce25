"""The permissions of Django that orders and invoices take. `tickets.models` makes them."""

VIEW_ORDER = "tickets.view_order"
ADD_ORDER = "tickets.add_order"
VIEW_INVOICE = "tickets.view_invoice"
ADD_INVOICE = "tickets.add_invoice"  # to draft one
ISSUE_INVOICE = "tickets.issue_invoice"
ADD_COMPANY = "tickets.add_company"
VOID_INVOICE = "tickets.void_invoice"
