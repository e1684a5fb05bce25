"""Proofs under injected faults.

Here live the faults (`proxy`, a process between application and engine; `driver`, which kills processes) and
the tests that hold every promise against them. Nothing here is needed to run the product.
"""
