"""The public functions: what they refuse before anything is sent, what they log, and what the app exports."""

from __future__ import annotations

import importlib
import logging
import pkgutil
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

import sequences
from sequences import dynamodb, exceptions, get_last_value, get_next_value, get_next_values, put_next, put_next_many
from sequences.exceptions import (
    InvalidItem,
    InvalidScope,
    InvalidSequence,
    InvalidToken,
    SequenceContention,
    SequenceError,
    SequenceUnavailable,
)
from sequences.strategies import Strategy
from tests.sequences.support import SEQUENCES, STEPPING, Clock, Wire, mark_listed, names_that, stored

pytestmark = pytest.mark.usefixtures("configured")

BAD_SCOPES = ["", "x" * 256, "a\nb", "a\x00", "\x7f", "\ud800", "#", "#marker#a", 7, b"a", ["a"]]
USES: list[Callable[[Any], object]] = [
    lambda scope: get_next_value("atomic", scope=scope),
    lambda scope: get_next_values(2, "atomic", scope=scope),
    lambda scope: get_last_value("sort-key", scope=scope),
    lambda scope: put_next("sort-key", {}, scope=scope),
    lambda scope: put_next_many("transactional", [{}], scope=scope),
]
TAKES_NO_KEYS = [name for name in SEQUENCES if name not in names_that("takes_own_keys")]
MODULES = [
    module.name
    for module in pkgutil.walk_packages(sequences.__path__, "sequences.")
    if not any(part in module.name for part in (".migrations", ".management"))
]


@pytest.fixture
def untouched(wire: Wire) -> Wire:
    """The wire, of which the test expects that nothing went over it."""
    return wire


class TestScopes:
    @pytest.mark.parametrize("use", USES, ids=["next", "values", "last", "put", "put many"])
    @pytest.mark.parametrize("scope", BAD_SCOPES, ids=repr)
    def test_refused(self, use: Callable[[Any], object], scope: Any, untouched: Wire) -> None:
        """A scope that is empty, too long, reserved, no text or holds control characters is refused unsent."""
        with pytest.raises(InvalidScope, match=r"^The scope .*(must|begin|leave)"):
            use(scope)
        assert untouched.sent == []

    def test_is_a_value_error(self) -> None:
        """A refused scope is also a ValueError, for callers who know nothing of sequences."""
        with pytest.raises(ValueError, match="256 characters"):
            get_last_value("atomic", scope="x" * 256)

    @pytest.mark.parametrize("name", SEQUENCES)
    @pytest.mark.parametrize("scope", ["x" * 255, "€" * 255, "a b", "a#b", "{sequence}", "{scope}", "ß/\\'\"", "None"])
    def test_allowed(self, name: str, scope: str) -> None:
        """Any other text is a scope of its own, letters of many bytes and 255 of them too."""
        before = get_last_value(name, scope=scope)
        assert before is None
        value = put_next(name, {}, scope=scope, idempotency_token="a token").value
        assert list(stored(name, scope)) == [value]

    @pytest.mark.parametrize("scope", ["no\u00a0break", "zero\u200dwidth", "\ue000"])
    def test_not_printable(self, scope: str) -> None:
        """A scope may hold spaces, formats and private characters, which cannot be seen but control nothing."""
        assert put_next("sort-key", {}, scope=scope).value == 1

    def test_none_is_no_text(self) -> None:
        """No scope at all is another one than any text."""
        get_next_value("atomic")
        assert get_last_value("atomic", scope="None-at-all") is None
        with pytest.raises(InvalidScope):
            get_last_value("atomic", scope="#")


class TestTokens:
    @pytest.mark.parametrize("token", ["", "x" * 256, "a\nb", "\x00", 7, b"a"], ids=repr)
    @pytest.mark.parametrize("name", ["sort-key", "atomic"])
    def test_refused(self, name: str, token: Any, scope: str, untouched: Wire) -> None:
        """A token that is empty, too long, no text or not printable is refused unsent."""
        with pytest.raises(InvalidToken, match=f"token for '{name}' is 1 to 255 printable.* and this one .*: give"):
            put_next(name, {}, scope=scope, idempotency_token=token)
        assert untouched.sent == []

    @pytest.mark.parametrize("name", SEQUENCES)
    @pytest.mark.parametrize("token", ["x" * 255, "€" * 255, "a#b", " "])
    def test_allowed(self, name: str, scope: str, token: str) -> None:
        """Any other text is a token."""
        first = put_next(name, {}, scope=scope, idempotency_token=token)
        assert put_next(name, {}, scope=scope, idempotency_token=token).value == first.value

    @pytest.mark.parametrize("tokens", [[], ["a"], ["a", "b", "c"], "ab"])
    def test_one_for_each(self, tokens: Any, scope: str, untouched: Wire) -> None:
        """Many items want a list with one token each, or none."""
        with pytest.raises(InvalidToken, match="2 items"):
            put_next_many("sort-key", [{}, {}], scope=scope, idempotency_tokens=tokens)
        assert untouched.sent == []

    def test_the_items_token_is_stored(self, scope: str) -> None:
        """Every stored item has a token: the caller's, or one made for it."""
        put_next("sort-key", {}, scope=scope, idempotency_token="a token")
        put_next("sort-key", {}, scope=scope)
        put_next("sort-key", {}, scope=scope)
        tokens = [row["token"] for row in stored("sort-key", scope).values()]
        assert tokens[0] == "a token"
        assert len(set(tokens)) == 3


class TestItems:
    @pytest.mark.parametrize("name", SEQUENCES)
    @pytest.mark.parametrize("attribute", ["token", "pk", "sk"])
    def test_attributes_of_the_sequence(self, name: str, attribute: str, scope: str, untouched: Wire) -> None:
        """An item must not bring what the sequence writes; the error names it."""
        with pytest.raises(InvalidItem, match=repr(attribute)):
            put_next(name, {attribute: "x"}, scope=scope)
        assert untouched.sent == []

    @pytest.mark.parametrize("name", TAKES_NO_KEYS)
    def test_own_keys(self, name: str, scope: str, untouched: Wire) -> None:
        """A strategy that numbers by the key takes no item that brings one."""
        with pytest.raises(InvalidItem, match="'pk'"):
            put_next(name, {"pk": "x", "sk": 1}, scope=scope)
        assert untouched.sent == []

    @pytest.mark.parametrize(
        "value", [1.5, Decimal("NaN"), Decimal("Infinity"), 10**40, object(), {1, "a"}, {"a": 0.1}]
    )
    @pytest.mark.parametrize("name", ["sort-key", "atomic"])
    def test_what_cannot_be_stored(self, name: str, value: object, scope: str, untouched: Wire) -> None:
        """A value that DynamoDB cannot hold is refused unsent; the error names its attribute."""
        with pytest.raises(InvalidItem, match="'price'"):
            put_next(name, {"title": "x", "price": value}, scope=scope)
        assert untouched.sent == []

    @pytest.mark.parametrize("item", [None, "text", ["title"], 7], ids=repr)
    def test_no_item_at_all(self, item: Any, scope: str, untouched: Wire) -> None:
        """What maps no attribute names to values is refused unsent."""
        with pytest.raises(InvalidItem, match="must map attribute names"):
            put_next("sort-key", item, scope=scope)
        assert untouched.sent == []

    def test_one_bad_item_of_many(self, scope: str, untouched: Wire) -> None:
        """Of many items with one that cannot be stored, none is."""
        with pytest.raises(InvalidItem, match="'price'"):
            put_next_many("sort-key", [{}, {"price": 0.5}], scope=scope)
        assert untouched.sent == []

    def test_what_can_be_stored(self, scope: str) -> None:
        """Text, numbers, truth, nothing, bytes, lists, dicts and sets come back as they went; whole numbers as int."""
        item = {
            "text": "ü",
            "empty": "",
            "number": 7,
            "large": 10**37,
            "fraction": Decimal("1.5"),
            "truth": True,
            "nothing": None,
            "bytes": b"ab",
            "list": [1, ["a"]],
            "dict": {"a": {"b": 1}},
            "set": {"a", "b"},
            "numbers": {1, 2},
        }
        value = put_next("sort-key", item, scope=scope, idempotency_token="a token").value
        row = stored("sort-key", scope)[value]
        assert {name: row[name] for name in item} == item
        assert type(row["number"]) is type(row["dict"]["a"]["b"]) is int

    def test_the_callers_item_stays_as_it_is(self, scope: str) -> None:
        """The caller's item is not changed."""
        item = {"title": "x"}
        put_next("sort-key", item, scope=scope)
        assert item == {"title": "x"}

    @pytest.mark.parametrize("name", SEQUENCES)
    def test_no_items(self, name: str, scope: str, untouched: Wire) -> None:
        """Many may be none, and then nothing is sent."""
        assert put_next_many(name, [], scope=scope) == []
        assert untouched.operations.count("PutItem") == 0
        assert get_last_value(name, scope=scope) is None

    @pytest.mark.parametrize("name", [name for name in SEQUENCES if name not in STEPPING])
    def test_too_large(self, name: str, scope: str) -> None:
        """An item of more than 400 KB is refused by name of what is wrong, and does not stop the sequence."""
        with pytest.raises(SequenceError, match="size"):
            put_next(name, {"title": "x" * 410_000}, scope=scope)
        assert put_next(name, {}, scope=scope).value > 0


class TestCounts:
    @pytest.mark.parametrize("count", [0, -1, True, 1.0, "2", None], ids=repr)
    def test_refused(self, count: Any, scope: str, untouched: Wire) -> None:
        """A count that is no whole number above 0 is refused unsent."""
        with pytest.raises(ValueError, match="count is"):
            get_next_values(count, "atomic", scope=scope)
        assert untouched.sent == []

    @pytest.mark.parametrize("count", [1_000_001, 10**37])
    def test_too_many(self, scope: str, count: int) -> None:
        """More than a million at once is a slip, and takes nothing."""
        with pytest.raises(ValueError, match="from 1 to 1,000,000"):
            get_next_values(count, "atomic", scope=scope)
        assert get_last_value("atomic", scope=scope) is None

    def test_many(self, scope: str, wire: Wire) -> None:
        """Many values are one request, and a range."""
        assert get_next_values(1000, "atomic", scope=scope) == range(1, 1001)
        assert wire.operations == ["Query", "UpdateItem"]

    @pytest.mark.parametrize(
        ("count", "length", "parts"),
        [(99, 1, [99]), (100, 1, [100]), (101, 1, [100, 1]), (14, 300_000, [13, 1]), (3, 390_000, [3])],
    )
    def test_many_items(self, scope: str, wire: Wire, count: int, length: int, parts: list[int]) -> None:
        """Many items are as few transactions as 100 items and 4 MB allow, in their order."""
        mark_listed("sort-key", scope)
        allocations = put_next_many("sort-key", [{"title": "x" * length}] * count, scope=scope)
        assert [allocation.value for allocation in allocations] == list(range(1, count + 1))
        sent = [len(body.get("TransactItems", [body])) for body in wire.bodies("TransactWriteItems")]
        assert sent == [part for part in parts if part > 1]
        assert wire.operations.count("PutItem") == parts.count(1)

    def test_unknown_sequences(self, scope: str) -> None:
        """An unknown alias is refused with the names of those that exist."""
        uses: list[Callable[[], object]] = [
            lambda: get_next_value("no such"),
            lambda: get_next_values(1, "no such"),
            lambda: get_last_value("no such"),
            lambda: put_next("no such", {}),
            lambda: put_next_many("no such", []),
        ]
        for use in uses:
            with pytest.raises(InvalidSequence, match=r"'no such'.*'sort-key'"):
                use()


class TestLog:
    def test_one_line_an_allocation(self, scope: str, caplog: pytest.LogCaptureFixture) -> None:
        """Each allocation is one line with its value, and never with the item's content."""
        with caplog.at_level(logging.INFO, "sequences"):
            for _ in range(2):
                put_next("sort-key", {"title": "a secret"}, scope=scope, idempotency_token="a token")
        first, second = [message for message in caplog.messages if scope in message]
        assert f"scope {scope}: value 1" in first
        assert "replayed" not in first
        assert "replayed" in second
        assert "secret" not in caplog.text

    def test_one_warning_a_give_up(
        self, scope: str, install: Callable[..., Strategy], wire: Wire, logged: pytest.LogCaptureFixture
    ) -> None:
        """Giving up is one warning."""
        install("sort-key", deadline=0.05)
        wire.lose("PutItem", times=1000)
        with logged.at_level(logging.INFO, "sequences"), pytest.raises(SequenceError):
            put_next("sort-key", {"title": "a secret"}, scope=scope)
        (record,) = logged.records
        assert record.levelno == logging.WARNING
        assert "secret" not in logged.text

    @pytest.mark.parametrize("count", [None, 5])
    def test_values_that_are_given_up(
        self,
        scope: str,
        install: Callable[..., Strategy],
        wire: Wire,
        logged: pytest.LogCaptureFixture,
        count: int | None,
    ) -> None:
        """Giving up on values without an item is one warning too."""
        install("atomic", deadline=0.05)
        wire.lose("UpdateItem", times=1000)
        with logged.at_level(logging.INFO, "sequences"), pytest.raises(SequenceUnavailable):
            get_next_values(count, "atomic", scope=scope) if count else get_next_value("atomic", scope=scope)
        (record,) = logged.records
        assert f"sequence atomic scope {scope}: gave up" in record.message

    def test_nothing_is_tried_after_a_give_up(
        self, scope: str, clock: Clock, install: Callable[..., Strategy], wire: Wire
    ) -> None:
        """If one transaction of many items gives up, the following ones are not tried."""
        install("sort-key", clock=clock)
        wire.lose("TransactWriteItems", times=10_000)
        with pytest.raises(SequenceUnavailable):
            put_next_many("sort-key", [{"n": n} for n in range(250)], scope=scope)
        sent = wire.bodies("TransactWriteItems")
        assert len(sent) > 1
        assert all(body == sent[0] for body in sent)

    def test_what_a_give_up_says(self) -> None:
        """The error after giving up has the attempts, the seconds, and the outcome."""
        error = SequenceContention("Somebody was faster.", attempts=3, seconds=1.25)
        assert str(error) == "Somebody was faster. Gave up after 3 attempts and 1.2 s; nothing was stored."
        error = SequenceContention("Lost.", attempts=3, seconds=1.25, outcome_unknown=True)
        assert "repeat it with the same idempotency token" in str(error)


class TestExports:
    def test_sorted_and_there(self) -> None:
        """The names that a module exports exist, and are sorted: constants, classes, functions; each once."""
        modules = [importlib.import_module(name) for name in ("sequences", *MODULES)]
        exported = {module: list(getattr(module, "__all__", [])) for module in modules}
        assert exported == {module: sorted(set(names), key=_kind_and_name) for module, names in exported.items()}
        assert [(module, name) for module in modules for name in exported[module] if not hasattr(module, name)] == []

    def test_the_functions(self) -> None:
        """The app itself exports its functions; those that read or write have twins for event loops."""
        functions = ["find", "get_item", "get_last_value", "get_next_value", "get_next_values", "items"]
        functions += ["put_next", "put_next_each", "put_next_many", "put_next_together"]
        others = ["format_value", "parse", "preview"]
        assert sequences.__all__ == sorted([*others, *(f"a{name}" for name in functions), *functions])

    def test_all_exceptions_are_exported(self) -> None:
        """Every exception class is exported."""
        own = {name for name, value in vars(exceptions).items() if isinstance(value, type) and _is_error(value)}
        assert own <= set(exceptions.__all__)

    def test_the_tree_is_as_drawn(self) -> None:
        """The tree in the docstring has each class under its base, and no other."""
        drawn: dict[str, str] = {}
        above: list[tuple[int, str]] = []
        for line in (exceptions.__doc__ or "").splitlines():
            words = line.replace("|--", "   ").replace("`--", "   ").replace("|", " ")
            name = words.split()[0] if words.split() else ""
            if not (line.startswith("    ") and isinstance(getattr(exceptions, name, None), type)):
                continue
            depth = len(words) - len(words.lstrip())
            while above and above[-1][0] >= depth:
                above.pop()
            drawn[name] = above[-1][1] if above else ""
            above.append((depth, name))
        kinds = [value for value in vars(exceptions).values() if isinstance(value, type) and _is_error(value)]
        actual = {kind.__name__: kind.__bases__[0].__name__ for kind in kinds if kind is not SequenceError}
        assert drawn == {"SequenceError": "", **actual}

    def test_errors_for_those_who_know_nothing_of_sequences(self) -> None:
        """Bad input is a ValueError too, and an unknown scope a LookupError, as the drawing says."""
        for kind in (InvalidScope, InvalidItem, InvalidToken):
            assert issubclass(kind, ValueError)
        assert issubclass(exceptions.ScopeNotFound, LookupError)


def _kind_and_name(name: str) -> tuple[bool, bool, str]:
    return not name.isupper(), name[0].islower(), name


def _is_error(value: type) -> bool:
    return issubclass(value, SequenceError)


def test_names_of_tables_carry_the_prefix(configured: str) -> None:
    """The full name of every table begins with TABLE_PREFIX."""
    assert dynamodb.table_name("x") == f"{configured}x"
