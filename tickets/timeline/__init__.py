"""The timeline of a ticket: its comments and changes, numbered from 1.

The rooms are those of `tickets`, which lends what both have in common; `tickets.store.timeline` has the rows. A ticket
that moves keeps its timeline: its scope is named for the first place of the ticket.
"""
