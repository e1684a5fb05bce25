"""The tests of the room `sequences/asynchronous`."""
