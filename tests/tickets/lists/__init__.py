"""The tests of `tickets.lists`, and of lists over REST and on pages."""
