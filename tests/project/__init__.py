"""The tests of the site: its settings, and the whole of it as a person starts and stops it."""
