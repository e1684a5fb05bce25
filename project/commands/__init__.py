"""The programs behind `make`: `bootstrap` sets everything up and then runs the requested command."""
