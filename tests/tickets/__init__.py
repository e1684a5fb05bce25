"""The tests of the sample application, by module; nearly all of them on the embedded engine."""
