"""Attacks: forks, signals, clocks that jump, late writes, tables that are made again, limits.

Each test takes one guarantee and looks for the moment at which it breaks. Faults of single requests are in
`tests.faults`.
"""
