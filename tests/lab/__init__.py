"""The tests of the lab: recipes do what their sources say, and the comparison counts correctly."""
