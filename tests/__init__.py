"""The tests, by room: each folder tests the room of its name. `faults` and `attacks` test the whole product."""
