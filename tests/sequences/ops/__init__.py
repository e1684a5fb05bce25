"""The tests of the room `sequences/ops`."""
