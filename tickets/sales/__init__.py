"""Orders and invoices: an order has a number at once, an invoice gets its number when it is issued.

    types, exceptions, validators   what orders and invoices are, their errors, and the limits of their fields
    services                        the writes
    selectors                       the reads
    store                           the only room that knows the table
    forms, views                    the web pages
    api                             the REST API

The rooms are those of `tickets`, which lends what both have in common.
"""
