"""The lab: the published recipes beside our strategies, in comparisons and races. Production never runs it.

`recipes` has the published code, `meter` counts what a client sends, `losses` loses answers on request, `comparison`
runs everything under the same conditions, and `report` shows the result. `racing` lets writers take numbers at the same
moment, and `timelines` draws what they did. `records` keeps the committed runs, `exhibits` prepares them for `page`,
which is `/numbers/`. The commands are `manage.py compare_strategies` and `manage.py record_races`.
"""
