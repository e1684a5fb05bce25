"""The tests of the site: its settings, its set-up, and the whole site as a person starts and stops it."""
