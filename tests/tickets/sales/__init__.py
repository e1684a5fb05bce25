"""The tests of orders and invoices."""
