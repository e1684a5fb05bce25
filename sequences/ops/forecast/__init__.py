"""What is to be expected of a strategy under some traffic, before the traffic is there.

`costs` says what a number takes in requests and units. `estimate` adds formulas for speed and money. `simulation` plays
the rules of `callers` against the table of `table`, by the clock of `clock`, and so also knows races and throttles.
"""
