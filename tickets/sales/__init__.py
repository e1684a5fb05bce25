"""Orders and invoices: an order has a number at once, an invoice gets its number when it is issued.

The rooms are those of `tickets`, which lends what both have in common.
"""
