"""Faults, and the check that the product keeps its promises under them.

    plans, proxy, control    a process between application and engine that injects faults into requests
    incidents, driver        faults of processes, disk and clocks, and the moments at which they happen
    stack, worker            the whole product under faults
    callers, api, writers    its clients: how they repeat, what they ask of the Python API, and its processes
    history                  the record of what clients asked for and what was answered, and its check
    clients, clock           a client of the engine alone, and a wall clock that jumps
    elsewhere                what other processes of the application do

The soak uses all of it, and tests use its parts.
"""
