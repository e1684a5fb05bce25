"""Faults, and the proof that nothing comes of them.

Here live the faults (`proxy`, a process between application and engine; `incidents`, which befall processes, at the
moments of a `driver`), the whole product under them (`stack`), those who use it (`callers`, `writers`), and the proof
of what they were told (`history`). The soak uses all of it, and tests use its parts.
"""
