"""REST for API tokens, and the throttles of the whole API."""
