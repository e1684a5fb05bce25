"""The lab: numbering as it is published, and the side-by-side comparison with our strategies.

`recipes` holds the published code, `meter` counts what a client sends and loses answers on request,
`comparison` runs everything alike, `report` shows the result. `manage.py compare_strategies` is the way in;
the application itself never imports this package.
"""

__all__: list[str] = []
