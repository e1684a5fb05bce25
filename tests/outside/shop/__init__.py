"""The project's settings and addresses."""
