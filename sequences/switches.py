"""The former path of `switch` and `finish_switch`, which are in `sequences.changes`."""

from .changes.switches import finish_switch, switch

__all__ = ["finish_switch", "switch"]
