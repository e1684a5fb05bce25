"""The keys of a table of numbered items, and how numbers become sort keys."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ...exceptions import StorageRefused
from .. import DEFAULT_CLIENT

KeyType = Literal["S", "N"]


@dataclass(frozen=True, kw_only=True, slots=True)
class KeySchema:
    """The keys of one table of items: its full name, its key names, and how a number becomes a sort key.

    A sort key that is a text has the number with zeros before it, up to `padded_width` digits, after the `sort_prefix`
    that tells it from the sort keys of other rows in the same partition. A table without a sort key (`sort_name` is
    empty) has the number at the end of the partition key. `client` is the alias in SEQUENCES_CLIENTS by which the table
    is reached.
    """

    table: str
    partition_name: str = "pk"
    sort_name: str = "sk"
    padded_width: int = 0
    sort_prefix: str = ""
    partition_type: KeyType = "S"
    sort_type: KeyType = "N"
    client: str = DEFAULT_CLIENT

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the key attributes."""
        return (self.partition_name, self.sort_name) if self.sort_name else (self.partition_name,)

    @property
    def keys(self) -> dict[str, KeyType]:
        """The types of the key attributes by their names, the partition key first."""
        return dict(zip(self.names, (self.partition_type, self.sort_type), strict=False))

    def require(self, keys: Mapping[str, str], alias: str) -> None:
        """Raise StorageRefused for a table that has other keys than this sequence needs."""
        if list(keys.items()) != list(self.keys.items()):
            raise StorageRefused(
                f"The table {self.table!r} has the keys {shown(keys)}; the sequence {alias!r} is configured for "
                f"{shown(self.keys)}: set 'key_names', 'key_types' and 'sort_key' in its OPTIONS, or name another "
                "table."
            )

    @property
    def sorts_numbers(self) -> bool:
        """Whether the sort key has numbers in their order."""
        return bool(self.sort_name) and (self.sort_type == "S") == (self.padded_width > 0)

    def key(self, partition: str, number: int) -> dict[str, Any]:
        """The key of one number, as attribute values."""
        if not self.sort_name:
            return {self.partition_name: {"S": f"{partition}#{number}"}}
        return {self.partition_name: {self.partition_type: partition}, self.sort_name: self.sort_value(number)}

    def sort_value(self, number: int) -> dict[str, str]:
        """A number as a sort key. Padded numbers sort correctly up to `padded_width` digits."""
        if self.sort_type == "N":
            return {"N": str(number)}
        return {"S": f"{self.sort_prefix}{number:0{self.padded_width}d}"}

    @property
    def numbered(self) -> tuple[dict[str, str], dict[str, str]] | None:
        """Between which sort keys those of numbers are; None if there are no others in a partition."""
        if not self.sort_prefix:
            return None
        return {"S": f"{self.sort_prefix}0"}, {"S": f"{self.sort_prefix}:"}  # which follows the digits

    def number(self, item: Mapping[str, Any]) -> int:
        """The number of a stored item, from its unmarshalled sort key. Raises StorageRefused for a stray row."""
        number = self.number_or_none(item)
        if number is None:
            wanted = f"a number of {self.padded_width} digits" if self.padded_width else "a whole number"
            wanted += f" after {self.sort_prefix!r}" if self.sort_prefix else ""
            key = {name: item.get(name) for name in (self.partition_name, self.sort_name)}
            raise StorageRefused(
                f"The table {self.table!r} holds a row {key} whose sort key is not {wanted}: move it elsewhere."
            )
        return number

    def number_or_none(self, item: Mapping[str, Any]) -> int | None:
        """The number of a stored item; None if its sort key is not a number in this schema's form."""
        key = item[self.sort_name]
        if self.padded_width:
            key = key[len(self.sort_prefix) :] if key.startswith(self.sort_prefix) else ""
            return int(key) if key.isascii() and key.isdigit() and len(key) == self.padded_width else None
        return key if isinstance(key, int) else None


def shown(keys: Mapping[str, str]) -> str:
    """Key attributes as a message names them."""
    return ", ".join(f"{name} ({kind})" for name, kind in keys.items())
