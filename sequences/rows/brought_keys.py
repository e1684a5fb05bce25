"""Which keys items bring themselves, and which attributes they must leave to the sequence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..dynamodb import BLANK, expressions
from ..exceptions import InvalidItem
from .layout import SIGNATURE
from .layout_options import LayoutOptions


class BroughtKeys:
    """The keys that the items of one sequence bring."""

    def __init__(self, options: LayoutOptions) -> None:
        self._schema, names = options.schema, options.key_names
        named = filter(None, [options.text_name, options.digest_name])
        system = [options.token_name, expressions.MARKER_EXPIRY, *named]
        whole_key = (names, (*system, options.value_name))
        self._indexes = [(index, *key) for index, keys in options.indexes.items() for key in keys.items()]
        self._own = whole_key if options.may_own_key else None
        """Which key attributes an item with a key of its own brings, and which attributes the sequence writes."""
        match options.value_in:
            case "sort_key":
                self._usual: tuple[Sequence[str], Sequence[str]] = (), (*system, *names)
            case "partition_key":
                self._usual = names[1:], (*system, names[0])
            case _:
                self._usual = whole_key

    def of(self, item: Mapping[str, Any]) -> dict[str, Any] | None:
        """The key that an item brings, as attribute values; None if its key follows from its value.

        Raises InvalidItem, which names the attribute, for a key that is incomplete or of another type, for an
        attribute that the sequence writes itself, and for a `void` that reads like the sequence's own.
        """
        if "void" in item:
            _check_void(item["void"].get("M", {}))
        names = self._schema.names
        brought, ours = self._usual
        if self._own and all(name in item for name in names):
            brought, ours = self._own
        for name in ours:
            if name in item:
                raise InvalidItem(
                    f"The item has the attribute {name!r}, which the sequence writes itself: leave it out."
                )
        for name in brought:
            self._check(name, item.get(name))
        for index, name, kind in self._indexes:
            _check_index(index, name, kind, item.get(name))
        return {name: item[name] for name in names} if len(brought) == len(names) else None

    def _check(self, name: str, value: Any) -> None:
        """Refuse a key attribute that is missing, of another type, or reserved."""
        schema = self._schema
        wanted = schema.keys[name]
        if value is None:
            raise InvalidItem(f"The item has no {name!r}, which is in the key of {schema.table!r}: add it.")
        if BLANK in value:
            raise InvalidItem(
                f"The item's {name!r} is in its key, so that its value must be known before: leave VALUE and TEXT out "
                "of it, or give the sequence the option 'value_in'."
            )
        if wanted not in value:
            kind = "a number" if wanted == "N" else "a text"
            raise InvalidItem(f"The item's {name!r} must be {kind}, as in the key of {schema.table!r}.")
        if name == schema.partition_name and value[wanted].startswith("#"):
            raise InvalidItem(f"The item's {name!r} begins with '#', which is reserved: begin it otherwise.")


def _check_index(index: str, name: str, kind: str, value: Mapping[str, Any] | None) -> None:
    """Refuse what cannot be a key of an index. An item without the attribute is not in the index."""
    if value is None or (BLANK in value and kind == ("S" if value[BLANK] else "N")):
        return
    if kind not in value:
        wanted = "a number" if kind == "N" else "a text"
        raise InvalidItem(f"The item's {name!r} must be {wanted}, as it is a key of the index {index!r}.")
    if value[kind] == "":
        raise InvalidItem(f"The item's {name!r} is empty, but it is a key of the index {index!r}: leave it out.")


def _check_void(about: Mapping[str, Any]) -> None:
    """Refuse a `void` that audits, freezes and void rows would take for the sequence's own (see `signed_void`)."""
    if found := next((name for name in SIGNATURE if name in about), None):
        raise InvalidItem(
            f"The item's attribute 'void' has {found!r}, as what the sequence withdraws: name the attribute otherwise, "
            "or withdraw the item when it is stored."
        )
