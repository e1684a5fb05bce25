"""What is stored for a value, and how a refusal is read: items, counters, markers, queues of hosts, lives of tables."""
