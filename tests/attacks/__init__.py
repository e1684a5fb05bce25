"""Attacks: what a hostile day may do to a process that numbers things, and what must hold all the same.

Each takes a promise at its word and looks for the moment at which it breaks: forks, signals, clocks that jump, writes
that arrive late, tables that are made anew, limits. Faults of single requests live in `tests.faults`.
"""
