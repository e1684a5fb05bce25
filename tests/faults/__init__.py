"""Tests of every guarantee under the faults of `project.proof.faults`, and tests of these faults."""
