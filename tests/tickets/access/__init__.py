"""Who may do what: addresses, members, and what people may do with tickets."""
