"""Makes requests from items with their keys, and divides many requests into parts that fit into one transaction."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..actions import Action, check_actions
from ..commit.requests import MOST_BYTES, Pending, PutRequest
from ..dynamodb import BLANK, expressions, filled, have_blanks, item_size, marshal
from ..exceptions import InvalidItem
from ..types import Scope, parted
from .assignments import Assigner
from .layout import SIGNATURE, ItemLayout


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests of one sequence.

    `own_key` gives the key that an item brings, `digest` what a repeat must have alike, and `sample` writes a text by
    its template. They raise InvalidItem.
    """

    assigner: Assigner
    own_key: Callable[[Mapping[str, Any]], dict[str, Any] | None]
    digest: Callable[[Mapping[str, Any]], str]
    sample: Callable[[str], str]

    def put(
        self,
        item: Mapping[str, Any],
        token: str | None,
        also: Sequence[Action] = (),
        day: datetime.date | None = None,
        more: Sequence[Mapping[str, Any]] = (),
    ) -> PutRequest:
        """The request for an item, with or without an idempotency token of the caller. Raises InvalidItem.

        `more` has the items that are stored with it, under the values that follow.
        """
        try:
            wire = marshal(item)
            key, size = self.own_key(wire), item_size(wire)
            if also != ():
                size += check_actions(also, self.assigner.own_rows.problem, self.sample)
            request = PutRequest(item=wire, size=size, own_key=key, also=tuple(also), day=day)
            if more:
                self._add(request, more)
            if more or have_blanks(wire.values()):
                self._look_for_blanks(request)
            if token is not None:
                request.token, request.digest = token, self._digest(request)
            if more or also:
                self._check_size(request)
        except InvalidItem as error:
            raise InvalidItem(f"{error} The item is one of {self.assigner.alias!r}.") from error
        return request

    def _add(self, request: PutRequest, more: Sequence[Mapping[str, Any]]) -> None:
        """Let more items be stored with the first one."""
        request.more = tuple((wire, self.own_key(wire)) for wire in map(marshal, more))
        request.count += len(request.more)
        request.size += sum(item_size(wire) for wire, _ in request.more)

    def _look_for_blanks(self, request: PutRequest) -> None:
        """Note whether items tell their values. A template that does not fit the sequence is refused at once."""
        for wire, _ in request.items:
            if have_blanks(wire.values()):
                request.has_blanks = True
                filled(wire, 0, self.sample)

    def _digest(self, request: PutRequest) -> str:
        """What a repeat of all its items must have alike."""
        digests = [self.digest(wire) for wire, _ in request.items]
        return self.digest({"#items": {"L": [{"S": one} for one in digests]}}) if request.more else digests[0]

    def _check_size(self, request: PutRequest) -> None:
        most = self.assigner.most_actions - request.actions + len(request.also)
        if request.also and len(request.also) > most:
            raise InvalidItem(f"also has {len(request.also)} actions; one transaction holds {most} beside this item.")
        most = self.assigner.most_actions - bool(request.token)
        if request.count > most:
            raise InvalidItem(f"There are {request.count} items; one transaction holds {most} of them.")
        if request.size > MOST_BYTES:
            raise InvalidItem(f"The items have {request.size:,} bytes; one transaction holds {MOST_BYTES:,}.")

    def reservation(self, count: int, token: str, scope: Scope, day: datetime.date | None = None) -> PutRequest:
        """The request for `count` values that a repeat with the same token gets again. Only a marker is stored.

        Bare values do not show their period, so a repeat in another period is another request.
        """
        period = parted(scope)[1]
        wanted = {"#count": {"N": str(count)}, **({"#period": {"S": period}} if period else {})}
        return PutRequest(item=None, token=token, count=count, digest=self.digest(wanted), day=day)

    def parts(self, pendings: Sequence[Pending[PutRequest]]) -> Iterator[list[Pending[PutRequest]]]:
        """The requests in their order, in as few parts as fit into one transaction each."""
        part: list[Pending[PutRequest]] = []
        actions = size = 0
        for pending in pendings:
            request = pending.request
            actions, size = actions + request.actions, size + request.size
            if part and (actions > self.assigner.most_actions or size > MOST_BYTES):
                yield part
                part, actions, size = [], request.actions, request.size
            part.append(pending)
        if part:
            yield part


def own_places(request: PutRequest) -> list[int]:
    """Which of its items have keys of their own, so that no row is under their values; the first is 0."""
    return [place for place, (_, own_key) in enumerate(request.items) if own_key]


class BroughtKeys:
    """The keys that the items of one sequence bring, and the attributes that they must leave to the sequence."""

    def __init__(self, layout: ItemLayout) -> None:
        self._schema, names = layout.schema, layout.key_names
        self._names = names
        named = filter(None, [layout.text_name, layout.digest_name])
        system = [layout.token_name, expressions.MARKER_EXPIRY, *named]
        whole_key = (names, (*system, layout.value_name))
        self._indexes = [(index, *key) for index, keys in layout.indexes.items() for key in keys.items()]
        self._own = whole_key if layout.may_own_key else None
        """Which key attributes an item with a key of its own brings, and which attributes the sequence writes."""
        match layout.value_in:
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
        names = self._names
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
