"""The timeline of a ticket: its comments and changes, numbered from 1.

    types        what an event of a timeline is
    recording    stores a change of a ticket and its event, both or neither
    services     comments are made, changed and withdrawn
    selectors    the reads
    forms, views the web pages
    api          the REST API

The rooms are those of `tickets`, which lends what both have in common; `tickets.store.timeline` has the rows. A ticket
that moves keeps its timeline: its scope is named for the first place of the ticket.
"""
