"""The tests of the room `sequences/dynamodb`."""
