"""People and programs that sign in: their passwords and API tokens, and how often anybody may try."""
