"""The tests of the room `sequences/changes`."""
