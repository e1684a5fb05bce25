"""Lists the scopes of a sequence that has rows from before it kept a list: those that are named, or that it finds."""

import re
from collections.abc import Iterable, Iterator

from ..commit.retries import read
from ..dynamodb import expressions
from ..exceptions import OperationNotSupported
from ..registry import strategies
from ..services.arguments import placed
from ..strategies.base import Strategy
from ..types import Dated, Scope, named_scope, scope_of_text


def register(
    sequence: str, scopes: Iterable[str | None] | None = None, *, period: str | None = None
) -> Iterator[Scope]:
    """Put these scopes in the list of a sequence, of today's period or another one; without them all that have rows.

    It gives each scope when it is listed. Safe to run again, and while writers run. Each costs half a read unit and,
    if it is new in the list, one write unit. To find them reads the keys of the whole table of the items, by a scan,
    which costs half a read unit for each 4 KB of the table. It takes rows of others for scopes whose keys look alike.

    Raises OperationNotSupported if the sequence keeps no list, or if the keys of its items do not tell their scopes.
    """
    strategy = strategies[sequence]
    if not strategy.scope_list.keep:
        raise OperationNotSupported(
            f"{sequence!r} keeps no list of its scopes: its table of counters is one, or the option 'scopes' says "
            "otherwise."
        )
    named = (placed(sequence, scope, period=period, even_ended=True)[1] for scope in scopes or ())
    return _listed(strategy, _found(strategy) if scopes is None else named)


def _listed(strategy: Strategy, scopes: Iterable[Scope]) -> Iterator[Scope]:
    for scope in scopes:
        strategy.scope_list.put(scope, strategy.deadline().read)
        yield scope


def _found(strategy: Strategy) -> Iterator[Scope]:
    """Every scope that has a row in the table of the items, once."""
    pattern, seen = _pattern(strategy), set()
    for key in _partitions(strategy):
        found = pattern.fullmatch(key)
        if found and found[0] not in seen:
            seen.add(found[0])
            yield _scope(found)


def _pattern(strategy: Strategy) -> re.Pattern[str]:
    """How the partition keys of the counters look, or else those of the items. Raises OperationNotSupported."""
    if strategy.counter:
        return re.compile(rf"#counter#{re.escape(strategy.counter.rows.name)}#(?P<text>.*)", re.DOTALL)
    if not strategy.layout.in_collections:
        raise OperationNotSupported(f"The keys of the items of {strategy.alias!r} do not tell their scopes: name them.")
    pattern = re.escape(strategy.layout.template).replace(re.escape("{sequence}"), re.escape(strategy.alias))
    for name, text in (("period", "[^#]*"), ("scope", "#|[^#].*")):
        field = re.escape(f"{{{name}}}")
        pattern = pattern.replace(field, f"(?P<{name}>{text})", 1).replace(field, f"(?P={name})")
    return re.compile(pattern, re.DOTALL)


def _scope(found: re.Match[str]) -> Scope:
    named = found.groupdict()
    if "text" in named:
        return scope_of_text(named["text"])
    return Dated.of(named_scope(named["scope"]), named.get("period", ""))


def _partitions(strategy: Strategy) -> Iterator[str]:
    """The partition keys of the rows of the items' table, page by page."""
    schema, after = strategy.schema, None
    while True:
        request = expressions.scan_partitions(schema, after=after)
        answer = read("scan", request, client=schema.client)
        yield from (row[schema.partition_name][schema.partition_type] for row in answer["Items"])
        after = answer.get("LastEvaluatedKey")
        if not after:
            return
