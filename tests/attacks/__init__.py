"""Attacks: forks, signals, clocks that jump, late writes, recreated tables, limits.

Each test tries to break one guarantee. Faults of single requests are in
`tests.faults`.
"""
