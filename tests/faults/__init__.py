"""Tests that hold every promise against the faults of `project.proof.faults`, and tests of these faults."""
