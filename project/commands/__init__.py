"""The programs behind `make`: `bootstrap` sets up and becomes one of the others."""
