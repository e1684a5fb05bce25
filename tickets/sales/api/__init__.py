"""The REST API of orders and invoices, with the modules and the manners of `tickets.api`."""
