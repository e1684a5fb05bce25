"""The texts of values, by FORMAT."""

from __future__ import annotations

import datetime
import re
from typing import Any

__all__ = ["Format"]


class Format:
    """How values are written."""

    def __init__(self, template: str, **_: Any) -> None:
        self.template = re.sub(
            r"{(year|month|day)}", lambda m: "{day:%" + {"year": "Y", "month": "m", "day": "d"}[m[1]] + "}", template
        )
        self.uses_scope = "{scope}" in template
        self.uses_dates = "{day" in self.template
        m = re.search(r"value:0(\d+)d", template)
        self.widest = 10 ** int(m[1]) - 1 if m else None

    def text(self, value: int, scope: str | None, day: datetime.date | None, period: str) -> str:
        if self.template == "{value}":
            return str(value)
        return self.template.format(value=value, scope=scope, period=period, day=day)
