"""The tests of the room `sequences/services`."""
