"""Who may do what in a project: roles, what each of them may do, and the members of projects.

Services do not check who calls them. The doors do, by `checks`: `tickets.api.permissions` for REST, and
`tickets.pages` for pages. Projects keep their members in their own rows, see `tickets.store`.
"""
