"""The tests of the room `sequences/testing`."""
