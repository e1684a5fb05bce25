"""The keys of a table of numbered items, and how numbers become sort keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..exceptions import StorageRefused

__all__ = ["KeySchema"]


@dataclass(frozen=True, kw_only=True, slots=True)
class KeySchema:
    """The keys of one table of items: its full name, its key names, and how a number becomes a sort key."""

    table: str
    partition_name: str = "pk"
    sort_name: str = "sk"
    padded_width: int = 0

    def key(self, partition: str, number: int) -> dict[str, Any]:
        """The key of one number, as attribute values."""
        return {self.partition_name: {"S": partition}, self.sort_name: self.sort_value(number)}

    def sort_value(self, number: int) -> dict[str, str]:
        """A number as a sort key. Padded numbers sort correctly up to `padded_width` digits."""
        return {"S": f"{number:0{self.padded_width}d}"} if self.padded_width else {"N": str(number)}

    def number(self, item: Mapping[str, Any]) -> int:
        """The number of a stored item, from its unmarshalled sort key. Raises StorageRefused for a stray row."""
        number = self.number_or_none(item)
        if number is None:
            wanted = f"a number of {self.padded_width} digits" if self.padded_width else "a whole number"
            key = {name: item.get(name) for name in (self.partition_name, self.sort_name)}
            raise StorageRefused(
                f"The table {self.table!r} holds a row {key} whose sort key is not {wanted}: move it elsewhere."
            )
        return number

    def number_or_none(self, item: Mapping[str, Any]) -> int | None:
        """The number of a stored item; None if its sort key is not a number in this schema's form."""
        key = item[self.sort_name]
        if self.padded_width:
            return int(key) if key.isascii() and key.isdigit() and len(key) == self.padded_width else None
        return key if isinstance(key, int) else None
