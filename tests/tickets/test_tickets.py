"""The rows of tickets by themselves: what is read from them, and the exact actions that change and move them."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from sequences.actions import VALUE, Check, Update
from sequences.exceptions import IdempotencyMismatch
from tickets import store
from tickets.store import tickets as rows
from tickets.store.tickets import Own, changes, changing, has_left, leaving, moved_row, refusing, ticket_from_row
from tickets.tables import Row
from tickets.types import Moved, Status, TicketKey, Void

THEN, NOW = datetime(2026, 1, 31, 12, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)
ROW: Row = {
    "pk": "ABC",
    "sk": 7,
    "title": "Printer",
    "description": "On fire.",
    "status": "in_progress",
    "assignee": "bob",
    "labels": ["hot"],
    "reporter": "ann",
    "created_at": THEN.isoformat(),
    "updated_at": NOW.isoformat(),
    "version": 3,
}
PLACE = {"partition": "OLD", "number": 5}
VOID = {"by": "eve", "at": NOW.isoformat(), "reason": "Twice."}


@pytest.fixture(autouse=True)
def _renamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The project that was OLD is NEW; others have their first keys. Nothing is read for that."""
    monkeypatch.setattr(store.places.renames, "key", lambda partition: {"OLD": "NEW"}.get(partition, partition))


class TestReading:
    def test_a_row_is_a_ticket(self) -> None:
        """Each attribute has its field."""
        ticket = ticket_from_row({**ROW, "comments": 2, "updated_by": "bob", "values_key": "k", "origin": PLACE})
        assert (ticket.key, ticket.title, ticket.description) == (
            TicketKey(project="ABC", number=7),
            "Printer",
            "On fire.",
        )
        assert (ticket.status, ticket.assignee, ticket.labels) == (Status.IN_PROGRESS, "bob", ("hot",))
        assert (ticket.reporter, ticket.created_at, ticket.updated_at) == ("ann", THEN, NOW)
        assert (ticket.version, ticket.comments, ticket.updated_by) == (3, 2, "bob")
        assert (ticket.timeline, ticket.values_key) == ("OLD#5", "k")
        assert (ticket.void, ticket.sealed_until, ticket.moved) == (None, None, None)

    def test_a_row_of_somebody_else_has_defaults(self) -> None:
        """What an imported row lacks is empty; it was last changed by its reporter."""
        ticket = ticket_from_row({"pk": "ABC", "sk": 7, "reporter": "ann"})
        assert (ticket.title, ticket.description, ticket.assignee, ticket.labels) == ("", "", "", ())
        assert (ticket.status, ticket.version, ticket.comments) == (Status.OPEN, 1, 0)
        assert (ticket.reporter, ticket.updated_by, ticket.values_key, ticket.timeline) == ("ann", "ann", "", "ABC#7")
        assert ticket.created_at == ticket.updated_at == datetime(1970, 1, 1, tzinfo=UTC)
        assert ticket_from_row({"pk": "ABC", "sk": 7}).reporter == ""

    def test_a_void_row(self) -> None:
        """It says by whom, when and why; one that never was a ticket has nothing else to say."""
        void = Void(by="eve", at=NOW, reason="Twice.")
        ticket = ticket_from_row({**ROW, "void": VOID, "sealed_until": NOW.isoformat()})
        assert (ticket.status, ticket.void, ticket.sealed_until, ticket.reporter) == (Status.VOID, void, NOW, "ann")
        never = ticket_from_row({"pk": "ABC", "sk": 7, "void": VOID})
        assert (never.status, never.void, never.reporter) == (Status.VOID, void, "eve")
        assert never.created_at == never.updated_at == NOW

    def test_a_row_that_was_left(self) -> None:
        """It says where the ticket is, by the key that its project has now: the last place that is known."""
        left = {**ROW, "status": "moved", "void": VOID, "moved_to": {"partition": "XYZ", "number": 1}}
        ticket = ticket_from_row(left)
        assert (ticket.status, ticket.void) == (Status.MOVED, None)
        assert ticket.moved == Moved(to=TicketKey(project="XYZ", number=1), by="eve", at=NOW)
        assert ticket_from_row({**left, "leads_to": PLACE}).moved == Moved(
            to=TicketKey(project="NEW", number=5), by="eve", at=NOW
        )


class TestChanges:
    def test_what_changes(self) -> None:
        """The values before and after of what is new; of a long text only that it is."""
        content = {"title": "Ink", "assignee": "bob", "description": "Out.", "labels": ["hot"], "status": "done"}
        assert changes(ROW, content) == {
            "title": ["Printer", "Ink"],
            "description": None,
            "status": ["in_progress", "done"],
        }
        empty = {"title": "", "description": "", "assignee": "", "labels": [], "status": "open"}
        assert changes({"pk": "ABC", "sk": 7}, empty) == {}

    def test_the_action_of_a_change(self) -> None:
        """It sets and removes attributes of a row that is as it was read, and gives it the next version."""
        update, after = changing(ROW, {"title": "Ink", "updated_at": NOW}, removed=("assignee", "void"))
        assert update == Update(
            "tickets",
            {"pk": "ABC", "sk": 7},
            update="SET #title = :title, #updated_at = :updated_at, #version = :version REMOVE #0",
            condition="#version = :was AND attribute_not_exists(#void)",
            names={
                "#title": "title",
                "#updated_at": "updated_at",
                "#version": "version",
                "#void": "void",
                "#0": "assignee",
            },
            values={":title": "Ink", ":updated_at": NOW.isoformat(), ":version": 4, ":was": 3},
        )
        assert after == {
            **{name: value for name, value in ROW.items() if name != "assignee"},
            "title": "Ink",
            "updated_at": NOW.isoformat(),
            "version": 4,
        }

    def test_the_action_of_a_change_of_one_s_own(self) -> None:
        """Its condition names the reporter, and the version that was wanted."""
        update, _ = changing(ROW, {}, version=2, only=rows.VOID, own=Own(reporter="ann", since=THEN))
        assert update.condition == (
            "#version = :was AND #version = :wanted AND attribute_exists(#void)"
            " AND #reporter = :only_by AND #created_at >= :since"
        )
        given = {":was": 3, ":wanted": 2, ":only_by": "ann", ":since": THEN.isoformat()}
        assert update.values == {":version": 4, **given}

    def test_a_row_without_a_version_has_the_first(self) -> None:
        """An imported row gets the second version by its first change."""
        update, after = changing({"pk": "ABC", "sk": 7}, {}, version=1)
        assert (update.condition, after["version"]) == (f"attribute_not_exists(#version) AND {rows.LIVE}", 2)

    def test_the_action_that_stores_nothing(self) -> None:
        """Its condition fails, as the row is there."""
        assert refusing(ROW) == Check("tickets", {"pk": "ABC", "sk": 7}, condition="attribute_not_exists(pk)")


class TestOwn:
    def test_it_holds_for_the_reporter(self) -> None:
        """Another person's ticket, and one without a reporter, is not theirs."""
        assert Own(reporter="ann").holds(ROW)
        assert not Own(reporter="bob").holds(ROW)
        assert not Own(reporter="ann").holds({"pk": "ABC", "sk": 7})
        assert (Own(reporter="ann").condition, Own(reporter="ann").given) == (
            "#reporter = :only_by",
            {"only_by": "ann"},
        )

    def test_it_holds_for_some_time(self) -> None:
        """A ticket that was filed then or later is theirs still, in any zone; one without a time is too old."""
        zone = timezone(timedelta(hours=2))
        assert Own(reporter="ann", since=THEN.astimezone(zone)).holds(ROW)
        assert not Own(reporter="ann", since=THEN + timedelta(seconds=1)).holds(ROW)
        assert not Own(reporter="ann", since=THEN).holds({"reporter": "ann"})
        assert Own(reporter="ann", since=THEN.astimezone(zone)).given["since"] == THEN.isoformat()


class TestMoves:
    def test_what_goes_along(self) -> None:
        """All but what belongs to the place, and where it came from first; its version and its time are new."""
        row = {**ROW, "token": "t", "change": "c"}
        moved = moved_row(row, at=NOW, by="eve")
        kept = {name: value for name, value in ROW.items() if name not in ("pk", "sk")}
        new = {"updated_at": NOW.isoformat(), "updated_by": "eve", "version": 4}
        assert moved == {**kept, **new, "origin": {"partition": "ABC", "number": 7}}
        again = moved_row({"pk": "ABC", "sk": 7, "origin": PLACE}, at=NOW, by="eve")
        assert (again["origin"], again["version"]) == (PLACE, 2)

    def test_what_is_left(self) -> None:
        """Who moved it, when and whereto; its content is removed, if it is as it was read, also in its comments."""
        row = {
            "pk": "ABC",
            "sk": 7,
            "title": "Printer",
            "reporter": "ann",
            "created_at": "x",
            "token": "t",
            "version": 3,
        }
        (left,) = leaving(row, "OLD", at=NOW, by="eve", change="c")
        assert left.condition == "#version = :was AND attribute_not_exists(#comments)"
        names = ("status", "void", "moved_to", "version", "change", "updated_by", "updated_at")
        sets = ", ".join(f"#{name} = :{name}" for name in names)
        assert left.update == f"SET {sets} REMOVE #0"
        assert left.names == {**{f"#{name}": name for name in (*names, "comments")}, "#0": "title"}
        wire: Any = left.wire(9, lambda template: template.format(value=9))["Update"]
        values = wire["ExpressionAttributeValues"]
        assert values[":void"]["M"]["reason"] == {"S": "Moved to NEW-9."}
        assert values[":moved_to"]["M"] == {"partition": {"S": "OLD"}, "number": {"N": "9"}}
        assert {name: values[name] for name in (":status", ":version", ":was", ":change", ":updated_by")} == {
            ":status": {"S": "moved"},
            ":version": {"N": "4"},
            ":was": {"N": "3"},
            ":change": {"S": "c"},
            ":updated_by": {"S": "eve"},
        }

    def test_the_first_place_leads_on(self) -> None:
        """A ticket that has moved before leaves the way to it at its first place, too."""
        row = {**ROW, "comments": 2, "origin": PLACE}
        left, leads = leaving(row, "XYZ", at=NOW, by="eve", change="c")
        assert (left.condition, left.values[":comments"]) == ("#version = :was AND #comments = :comments", 2)
        assert "origin" not in left.names.values()
        assert leads == Update(
            "tickets",
            {"pk": "OLD", "sk": 5},
            update="SET #leads_to = :leads_to",
            names={"#leads_to": "leads_to"},
            values={":leads_to": {"partition": "XYZ", "number": VALUE}},
        )

    def test_whether_a_request_has_moved_it(self) -> None:
        """The request of the same name has; one that named another project is refused."""
        left = {**ROW, "moved_to": PLACE, "change": "c"}
        assert has_left(left, "OLD", change="c")
        assert not has_left(left, "OLD", change="d")
        assert not has_left({**ROW, "change": "c"}, "OLD", change="c")
        assert not has_left({**ROW, "moved_to": PLACE}, "OLD", change="c")
        with pytest.raises(IdempotencyMismatch):
            has_left(left, "XYZ", change="c")
