"""The tests: most folders test the room or folder of the same name. `faults` and `attacks` test the whole product."""
