"""The sample application: tickets that are numbered per project, ABC-1, ABC-2, ABC-3.

    types, exceptions, validators   what tickets are, and what may stand in them
    services                        the writes
    selectors                       the reads
    store                           the only room that knows the table
    problems                        what every known error means for its reader
    forms, views, middleware        the web pages
    api                             the REST API
    admin, models                   the list of tickets in the administration

A ticket gets its number from `sequences.put_next`, which stores it under the next free number of its project.
"""
