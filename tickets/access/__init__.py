"""Who may do what in a project: roles, what each of them may do, and the members of projects.

    actions    the one table: which role each action needs
    memory     what a process remembers of projects, so that a check costs no request
    checks     may this person do that? Raises the error that says why not
    token_scopes  what a token opens of what its person may do
    members    who is a member of a project: the reads and the writes

Services do not check who calls them. The doors do, by `checks`: `tickets.api.permissions` for REST, and
`tickets.pages` for pages. Projects keep their members in their own rows, see `tickets.store`.
"""
