"""The tests of the room `sequences/formats`."""
