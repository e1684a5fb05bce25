"""The tests of the room `sequences/commit`."""
