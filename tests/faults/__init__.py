"""Proofs under injected faults.

Here live the faults (`proxy`, a process between application and engine; `incidents`, which befall processes, at the
moments of a `driver`), the proof of what clients were told (`history`), the `soak` that uses all of them, and the
tests that hold every promise against them. Nothing here is needed to run the product.
"""
