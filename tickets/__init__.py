"""The sample application: tickets with a number in their project, such as ABC-1, ABC-2, ABC-3.

    types, exceptions, validators   what a ticket is, its errors, and the limits of its fields
    services                        the writes
    selectors                       the reads
    store                           the only room that knows the table
    renames                         the keys of renamed projects, in the memory of a process
    access                          who may do what in a project
    problems                        what every known error means for the person who reads it
    pages, forms, views, middleware the web pages
    api                             the REST API
    admin, models                   the list of tickets in the administration

Two files show how a ticket gets its number: `views.ticket_new`, or for REST `api.tickets.TicketList`, reads what was
sent; `services.create_ticket` stores the ticket by `sequences.put_next`, under the next number of its project.
"""
