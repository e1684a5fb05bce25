"""The lab: everything that production never runs. A deployment may leave this folder out.

`engine` is the embedded engine, for development and tests; `moto_server` replaces it where it is missing; `processes`
starts both. `recipes` has the published code, `meter` counts what a client sends, `losses` loses answers on request,
`comparison` runs everything under the same conditions, and `report` shows the result. `racing` lets writers take
numbers at the same moment, and `timelines` draws what they did. `records` keeps the committed runs, and `exhibits`
shows them to pages. The commands are `manage.py compare_strategies` and `manage.py record_races`.
"""

__all__: list[str] = []
