"""The lab: what production never runs, so that a deployment may leave this folder out.

`engine` is the embedded engine, for development and tests, with `moto_server` where it is missing; `processes` starts
either. `recipes` holds the published code, `meter` counts what a client sends and `losses` loses answers on request,
`comparison` runs everything alike, `report` shows the result. `manage.py compare_strategies` is the way in.
"""

__all__: list[str] = []
