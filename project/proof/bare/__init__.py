"""A site with one bare view, to compare ours with: no middleware, no sign-in, no shapes, and `create_ticket`."""
