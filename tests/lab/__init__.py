"""The tests of the lab: that the recipes do what their sources say, and that the comparison counts right."""
