"""The REST API of comments and histories, with the modules and the manners of `tickets.api`."""
