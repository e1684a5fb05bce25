"""The site in a real browser, Chromium, against what `make run` starts."""
