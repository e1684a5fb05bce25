"""The tests, by room: each folder tests the one of its name, and ``faults`` all of them under fire."""
