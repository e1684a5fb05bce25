"""The tests of the sample application, by module. Nearly all of them use the embedded engine."""
