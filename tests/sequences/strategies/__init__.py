"""The tests of the room `sequences/strategies`."""
