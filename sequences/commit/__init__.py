"""When, and together with whom, a write goes out: the queue of a scope, its leader, deadlines and turns of a host."""
