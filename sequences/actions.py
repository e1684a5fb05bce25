"""Actions on other rows that ride in the transaction of an item: `put_next(..., also=[Put(...), Check(...)])`.

    put_next("tickets", ticket, scope="ABC", also=[
        Put("outbox", {"pk": "created", "sk": new_token(), "key": value_text("ABC-{value}")}),
        Put("guards", {"pk": f"email#{email}", "sk": 0}, condition="attribute_not_exists(pk)"),
    ])

`VALUE` stands for the value that the item gets, `TEXT` for that value as FORMAT writes it, and
`value_text("ABC-{value}")` for a text with it; all may stand wherever a value may, also in the item itself.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

from .dynamodb import Blank, filled, item_size, marshal, table_name
from .dynamodb.expressions import OLD_ITEM
from .exceptions import InvalidItem
from .formats.template import text_problems

__all__ = ["TEXT", "VALUE", "Action", "Check", "Delete", "Put", "Update", "check_actions", "value_text"]

_PLACEHOLDER = re.compile(r"[#:]\w+")

VALUE = Blank("")
"""The value that the item gets, as a number."""

TEXT = Blank("{text}")
"""The text of that value, as FORMAT writes it."""


def value_text(template: str) -> Blank:
    """A text with the value that the item gets: the template has "{value}", and what else FORMAT may have.

    So "{value:010d}" is the value with zeros before it, and "{scope}" and "{period}" say where it counts. "{text}" is
    the value as FORMAT writes it. A brace itself is written twice.
    Raises InvalidItem, which names what is wrong with the template.
    """
    for problem in text_problems(template):
        raise InvalidItem(f"value_text({template!r}): {problem}.")
    return Blank(template)


@dataclass(frozen=True)
class Action:
    """One action on a row of any table in the same account and Region; TABLE_PREFIX comes before the table's name.

    `row` is the key, or for a `Put` the whole item. `condition` and `update` are DynamoDB's expressions; `names` and
    `values` have the #names and :values that they use.
    """

    table: str
    row: Mapping[str, Any]
    _: KW_ONLY
    update: str | None = None
    condition: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)

    kind: ClassVar[str]
    row_name: ClassVar[str] = "Key"
    needs: ClassVar[str | None] = None
    """Which expression it must have."""

    def wire(self, value: int = 0, write: Callable[[str], str] = str) -> dict[str, Any]:
        """The action of a `TransactWriteItems`, for an item with this value, whose texts `write` makes of templates.

        Raises InvalidItem.
        """
        expressions = {
            "UpdateExpression": self.update,
            "ConditionExpression": self.condition,
            "ExpressionAttributeNames": dict(self.names),
            "ExpressionAttributeValues": filled(marshal(self.values), value, write),
        }
        row = filled(marshal(self.row), value, write)
        given = {name: expression for name, expression in expressions.items() if expression}
        return {self.kind: {"TableName": table_name(self.table), self.row_name: row, **given, **OLD_ITEM}}

    def named(self, index: int) -> str:
        """How errors name it: by its place in `also`, and by its kind."""
        kind = type(self).__name__
        return f"also[{index}], {'an' if kind[0] in 'AEIOU' else 'a'} {kind}"

    def problems(self) -> Iterator[str]:
        """What is wrong with it, as far as that is known before it is sent."""
        if not isinstance(self.table, str) or not self.table:
            yield f"the table is {self.table!r}; it must be the name of a table"
        if not isinstance(self.row, Mapping) or not self.row:
            yield f"the {self.row_name.lower()} is {self.row!r}; it must map attribute names to values"
        for name in ("update", "condition"):
            expression = getattr(self, name)
            if name == self.needs and not expression:
                yield f"it needs the expression {name!r}"
            if name == "update" != self.needs and expression is not None:
                yield "only an Update has the expression 'update'"
            if expression is not None and (not isinstance(expression, str) or not expression):
                yield f"{name!r} is {expression!r}; it must be a text, an expression of DynamoDB"
        for name in ("names", "values"):
            if not isinstance(given := getattr(self, name), Mapping):
                yield f"{name!r} is {given!r}; it must map what the expressions use"
        yield from self._misnamed()

    def _misnamed(self) -> Iterator[str]:
        """Which #name or :value is used and not given, or given and not used; DynamoDB refuses both."""
        used = {name for text in (self.update, self.condition) if text for name in _PLACEHOLDER.findall(text)}
        given = {*self.names, *self.values}
        if missing := used - given:
            yield f"{min(missing)} is in an expression, but neither in 'names' nor in 'values'"
        if surplus := given - used:
            yield f"{min(map(str, surplus))} is given, but in no expression"


class Put(Action):
    """Store a row in the place of any with the same key, unless a condition forbids that."""

    kind = "Put"
    row_name = "Item"


class Update(Action):
    """Change a row by an update expression. A missing row is made, unless a condition forbids that."""

    kind = "Update"
    needs = "update"


class Check(Action):
    """Write nothing, and refuse the item unless the condition holds for a row."""

    kind = "ConditionCheck"
    needs = "condition"


class Delete(Action):
    """Delete a row, if the condition holds for it."""

    kind = "Delete"


def check_actions(
    actions: Sequence[Action], own_row: Callable[[Mapping[str, Any]], str], write: Callable[[str], str]
) -> int:
    """The size of the actions in bytes. Raises InvalidItem, which names the wrong action and the remedy.

    `own_row` says why an action, as it is sent, must leave its row to the sequence; it is empty for any other row.
    `write` makes samples of the texts of the sequence.
    """
    if isinstance(actions, Action | str | Mapping) or not isinstance(actions, Sequence):
        raise InvalidItem(f"also is {actions!r}; it must be a list of Put, Update, Check and Delete.")
    size, rows = 0, list[tuple[str, Mapping[str, Any]]]()
    for index, action in enumerate(actions):
        if not isinstance(action, Action) or type(action) is Action:
            raise InvalidItem(f"also[{index}] is {action!r}; it must be a Put, Update, Check or Delete.")
        try:
            if problem := next(action.problems(), "") or own_row(wire := action.wire(0, write)):
                raise InvalidItem(f"{problem}.")
            if (action.table, action.row) in rows:
                raise InvalidItem("an action before it has the same row, which one transaction cannot have twice.")
            rows.append((action.table, action.row))
            size += item_size(wire)
        except InvalidItem as error:
            raise InvalidItem(f"{action.named(index)}: {error}") from error
    return size
