"""The tests of the room `sequences/admin`."""
