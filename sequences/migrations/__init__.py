"""The permission to see sequences; no table."""
