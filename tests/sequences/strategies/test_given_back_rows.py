"""What is read and written of a counter's row when values are given back, and when they are taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from sequences import dynamodb
from sequences.dynamodb import expressions
from sequences.dynamodb.expressions import BORN, CHANGED, GIVEN_BACK
from sequences.exceptions import SequenceWentBack, WriteCancelled
from sequences.rows.numbers import Numbers
from sequences.strategies import given_back
from sequences.strategies.given_back import MOST_RANGES, Beginning, GivenBack

KEY = {"pk": {"S": "#counter"}}
SINCE = Beginning("a change", "this life", born="a birth")


class Row:
    """The row of a counter that gives 1, 2, 3 and so on to 100, and all that is asked and written of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.life = "this life"
        self.now: dict[str, Any] = {"token": "a token", "last_value": 50, CHANGED: "a change", BORN: "a birth"}
        self.asked: list[Any] = []
        self.writes: list[dict[str, Any]] = []
        self.errors: list[WriteCancelled] = []
        counter: Any = SimpleNamespace(
            alias="stub",
            table="counters",
            key=lambda scope: KEY,
            numbers=Numbers(alias="stub", start=1, step=1, maximum=100),
            memory=SimpleNamespace(check_items=lambda scope, send: self.asked.append(f"check {scope}")),
            state=lambda scope, send: SimpleNamespace(row=dynamodb.marshal(self.now) or None),
            rows=SimpleNamespace(change=lambda scope, **how: how, schema=SimpleNamespace(client="a client")),
        )
        self.deadline: Any = SimpleNamespace(read=self.read, send="send", try_again=self.asked.append)
        self.given_back = GivenBack(counter)
        monkeypatch.setattr(given_back, "write_once", self.write)
        monkeypatch.setattr(dynamodb, "life_of", self.life_of)

    def offer(self, *ranges: str, life: str = "this life") -> None:
        """Have the row offer these values."""
        self.now[GIVEN_BACK] = {"life": life, "ranges": [*ranges]}

    def fail(self, *, after_unknown: bool) -> WriteCancelled:
        """Refuse the next write."""
        error = WriteCancelled("no", ())
        error.after_unknown = after_unknown
        self.errors.append(error)
        return error

    def read(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        self.asked.append((operation, request))
        return {"Item": dynamodb.marshal(self.now)} if self.now else {}

    def write(self, operation: str, request: dict[str, Any], *, token: str, deadline: object) -> None:
        assert request["sets"]["token"] == request["if_missing"][BORN] == token
        self.writes.append({"operation": operation, **request})
        if self.errors:
            raise self.errors.pop(0)

    def life_of(self, table: str, *, send: object, anew: bool, alias: str) -> SimpleNamespace:
        self.asked.append((table, send, anew, alias))
        return SimpleNamespace(identity=self.life)

    def take(self, above: int | None = None) -> Beginning:
        """Take what the row offers above a value."""
        return self.given_back.take("ABC", self.deadline, above=above)

    def give(self, *ranges: range, since: Beginning = SINCE) -> bool:
        """Give these values back."""
        return self.given_back.give("ABC", ranges, since, self.deadline)

    def left(self) -> Sequence[str] | None:
        """What the row offers after the last write."""
        write = self.writes[-1]
        assert (write.get("removes") is None) != (GIVEN_BACK not in write["sets"])
        if write.get("removes"):
            assert write["removes"] == [GIVEN_BACK]
            return None
        kept = write["sets"][GIVEN_BACK]
        assert kept["life"] == self.life
        return list(kept["ranges"])


@pytest.fixture
def row(monkeypatch: pytest.MonkeyPatch) -> Row:
    """A row that offers nothing."""
    return Row(monkeypatch)


class TestTaking:
    def test_nothing_is_offered(self, row: Row) -> None:
        """A row that offers nothing is read, and not written: what it says of its counter is known then."""
        assert row.take() == SINCE
        assert row.writes == []
        assert row.asked == ["check ABC", ("counters", "send", False, "a client")]

    def test_no_row(self, row: Row) -> None:
        """Without a counter nothing is known but the life of its table."""
        row.now = {}
        assert row.take() == Beginning(None, "this life")

    @pytest.mark.parametrize(
        ("above", "taken", "left"),
        [
            (None, [range(1, 3), range(5, 8), range(9, 11)], None),
            (0, [range(1, 3), range(5, 8), range(9, 11)], None),
            (4, [range(5, 8), range(9, 11)], ["1:3:1"]),
            (5, [range(9, 11)], ["1:3:1", "5:8:1"]),
        ],
    )
    def test_what_is_taken(self, row: Row, above: int | None, taken: list[range], left: list[str] | None) -> None:
        """The ranges that begin above a value are taken in their order; the row offers the others."""
        row.offer("9:11:1", "1:3:1", "5:8:1")
        begun = row.take(above)
        assert begun == Beginning("a change", "this life", tuple(taken), "a birth")
        (write,) = row.writes
        assert (write["operation"], write["unchanged"]) == (
            "update_item",
            {"token": "a token", "last_value": 50, "frozen": None},
        )
        assert row.left() == left

    def test_nothing_above(self, row: Row) -> None:
        """Where all that is offered is lower, nothing is written."""
        row.offer("5:8:1")
        assert row.take(above=5).ranges == ()
        assert row.writes == []

    @pytest.mark.parametrize("kept", ["0:3:1", "99:102:1", "5:9:2"])
    def test_what_is_no_value(self, row: Row, kept: str) -> None:
        """What the sequence does not give as it is configured now is never taken, and goes with the next write."""
        row.offer("98:101:1", kept)
        assert row.take().ranges == (range(98, 101),)
        assert row.left() is None

    @pytest.mark.parametrize(("life", "of_row"), [("this life", "another"), ("", "")])
    def test_another_life(self, row: Row, life: str, of_row: str) -> None:
        """What was given in another life of the table is left, and so is all where no life is told."""
        row.life = life
        row.offer("1:3:1", life=of_row)
        assert row.take().ranges == ()
        assert row.writes == []

    def test_what_somebody_else_wrote(self, row: Row) -> None:
        """An attribute of the same name that is no offer says nothing."""
        row.now[GIVEN_BACK] = "a text"
        assert row.take().ranges == ()

    def test_a_counter_without_a_birth(self, row: Row) -> None:
        """The write by which values are taken marks the birth of a counter that has none."""
        row.offer("1:3:1")
        del row.now[BORN]
        born = row.take().born
        assert born == row.writes[0]["sets"]["token"]

    def test_a_lost_race(self, row: Row) -> None:
        """After a lost race the row is read again, until the deadline."""
        row.offer("1:3:1")
        error = row.fail(after_unknown=False)
        assert row.take().ranges == (range(1, 3),)
        assert len(row.writes) == 2
        assert error in row.asked

    def test_a_lost_answer(self, row: Row) -> None:
        """Values that perhaps another request took are not taken, and not remembered."""
        row.offer("1:3:1")
        row.fail(after_unknown=True)
        assert row.take() == SINCE
        assert len(row.writes) == 1
        assert row.take().ranges == (range(1, 3),)


class TestOfferedAgain:
    def test_it_went_back(self, row: Row) -> None:
        """A row that offers again what was taken from it went back; the remedy names its last value."""
        row.offer("1:3:1")
        row.take()
        with pytest.raises(SequenceWentBack, match="--past 50 "):
            row.take()

    @pytest.mark.parametrize(("offered", "again"), [("3:5:1", True), ("6:9:1", True), ("1:4:1", False)])
    def test_a_part_of_it(self, row: Row, offered: str, again: bool) -> None:
        """One value is enough; what only meets the taken values is another."""
        row.offer("4:7:1")
        row.take()
        row.offer(offered)
        assert row.given_back.offers_again("ABC", row.now) is again

    def test_all_that_was_taken(self, row: Row) -> None:
        """What was taken earlier counts, too, from the same counter in the same life of its table."""
        for offered in ("1:3:1", "5:8:1"):
            row.offer(offered)
            row.take()
        row.offer("1:3:1")
        assert row.given_back.offers_again("ABC", row.now)
        assert row.given_back.offers_again("another", row.now) is False
        assert row.given_back.offers_again("ABC", {**row.now, BORN: "another"}) is False
        row.now[BORN] = "another"
        row.take()
        row.now[BORN] = "a birth"
        assert row.given_back.offers_again("ABC", row.now) is False

    def test_another_life(self, row: Row) -> None:
        """What was taken in an earlier life of the table is forgotten with what is taken in this one."""
        row.offer("1:3:1")
        row.take()
        row.life = "a later life"
        row.offer("5:8:1", life=row.life)
        row.take()
        row.offer("1:3:1", life=row.life)
        assert row.given_back.offers_again("ABC", row.now) is False

    def test_it_is_bounded(self, row: Row) -> None:
        """As many ranges are remembered as a row has."""
        for n in range(MOST_RANGES + 1):
            row.offer(f"{n + 1}:{n + 2}:1")
            row.take()
        told = []
        for n in range(MOST_RANGES + 1):
            row.offer(f"{n + 1}:{n + 2}:1")
            told.append(row.given_back.offers_again("ABC", row.now))
        assert told == [False, *[True] * MOST_RANGES]

    def test_what_is_given_back(self, row: Row) -> None:
        """What a process gives back may be offered again, and what it has used may not."""
        row.offer("1:5:1", "7:11:1")
        row.take()
        row.offer()
        assert row.give(range(9, 11), range(8, 9))
        for offered, again in (("1:2:1", True), ("7:8:1", True), ("8:9:1", False), ("9:11:1", False)):
            row.offer(offered)
            assert row.given_back.offers_again("ABC", row.now) is again

    def test_it_is_forgotten(self, row: Row) -> None:
        """When all is forgotten the values may be taken as if by another process."""
        row.offer("1:3:1")
        row.take()
        row.given_back.forget()
        assert row.take().ranges == (range(1, 3),)


class TestGiving:
    def test_beside_others(self, row: Row) -> None:
        """The values are offered beside those of others; the life of the table is asked anew, after the row."""
        row.offer("1:3:1")
        assert row.give(range(5, 8), range(9, 10))
        assert row.left() == ["1:3:1", "5:8:1", "9:10:1"]
        assert row.writes[0]["unchanged"] == {"token": "a token", "last_value": 50, "frozen": None}
        read = ("get_item", expressions.read_item("counters", KEY))
        assert row.asked == [read, ("counters", "send", True, "a client")]

    def test_those_of_another_life(self, row: Row) -> None:
        """What is left of another life of the table goes."""
        row.offer("1:3:1", life="another")
        assert row.give(range(5, 8))
        assert row.left() == ["5:8:1"]

    @pytest.mark.parametrize(
        ("since", "now"),
        [
            (Beginning("a change", "another", born="a birth"), {}),
            (Beginning("another", "this life", born="a birth"), {}),
            (Beginning("a change", "this life", born="another"), {}),
            (Beginning("a change", "this life"), {BORN: None}),
        ],
    )
    def test_another_counter(self, row: Row, since: Beginning, now: dict[str, Any]) -> None:
        """Nothing is given to another life of the table, after a change, to another counter or one without birth."""
        row.now |= now
        assert row.give(range(5, 8), since=since) is False
        assert row.writes == []

    def test_no_life_is_told(self, row: Row) -> None:
        """Without a life of the table nothing is given."""
        row.life = ""
        assert row.give(range(5, 8), since=Beginning("a change", "", born="a birth")) is False
        assert row.writes == []

    def test_no_row(self, row: Row) -> None:
        """Nothing is given to a counter that is gone."""
        row.now = {}
        assert row.give(range(5, 8)) is False

    @pytest.mark.parametrize(("count", "gives"), [(MOST_RANGES - 1, True), (MOST_RANGES, False)])
    def test_it_is_bounded(self, row: Row, count: int, gives: bool) -> None:
        """A row offers a few ranges at most, so that it stays small."""
        row.offer(*(f"{n}:{n + 1}:1" for n in range(count)))
        assert row.give(range(50, 51)) is gives
        assert len(row.writes) == gives

    @pytest.mark.parametrize(("after_unknown", "gives"), [(False, True), (True, False)])
    def test_a_refused_write(self, row: Row, after_unknown: bool, gives: bool) -> None:
        """After a lost race it is tried again; where the values may be given already they never are twice."""
        error = row.fail(after_unknown=after_unknown)
        assert row.give(range(5, 8)) is gives
        assert len(row.writes) == 1 + gives
        assert (error in row.asked) is gives
