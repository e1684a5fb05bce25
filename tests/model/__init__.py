"""A model of what may happen to a write: the leader and the strategies, on an engine and a wire in memory.

engine     the engine: a small DynamoDB
world      one scenario, and what in its end contradicts a guarantee
scenarios  all scenarios, in a fixed order
"""
