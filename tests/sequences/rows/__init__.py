"""The tests of the room `sequences/rows`."""
