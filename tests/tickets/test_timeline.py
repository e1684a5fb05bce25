"""Comments and changes of tickets, and the way of void tickets back: in the services, and under faults and rivals."""

import logging
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

import sequences
from project.proof.faults.control import Proxy
from sequences import dynamodb
from sequences.actions import Put, Update
from sequences.changes import advance, void
from sequences.exceptions import IdempotencyMismatch, SequenceError, SequenceUnavailable, StorageError
from sequences.ops.audit import audit
from sequences.registry import strategies
from sequences.testing import engine_at
from sequences.testing.callers import at_once
from tests.sequences.running import FAULTS
from tests.tickets.test_services import ABC_1, file, requests_from_now
from tickets import moves, project_services, selectors, services, store, tables
from tickets.exceptions import (
    CommentNotFound,
    CommentVoided,
    ContentGone,
    InvalidInput,
    NotAllowed,
    StaleVersion,
    TicketMoved,
    TicketNotFound,
    TicketVoided,
)
from tickets.repeats import fingerprint
from tickets.store import timeline as store_timeline
from tickets.tables import Row
from tickets.timeline import recording
from tickets.timeline import selectors as timeline
from tickets.timeline import services as comments
from tickets.timeline.types import Event, Kind
from tickets.types import Project, Status, Ticket, TicketKey, TicketStored, Void

XYZ_1 = TicketKey(project="XYZ", number=1)
MONTH = timedelta(days=30)


def change(version: int | None = 1, *, by: str = "bob", token: str | None = None, **changes: Any) -> Ticket:
    """Change ABC-1, by its status if nothing is named."""
    wanted = changes or {"status": "done"}
    return services.update_ticket(ABC_1, version=version, changes=wanted, by=by, idempotency_token=token).ticket


def comment(text: str = "Mine too.", *, key: TicketKey = ABC_1, by: str = "bob", token: str | None = None) -> Event:
    """Comment on a ticket."""
    return comments.add_comment(key, text=text, by=by, idempotency_token=token).comment


def events(key: TicketKey = ABC_1, **wanted: Any) -> tuple[Event, ...]:
    """One page of a ticket's timeline."""
    return timeline.list_events(selectors.get_ticket(key), **wanted).results


def kinds(key: TicketKey = ABC_1) -> list[str]:
    """What the events of a ticket are, in the order of their numbers, which have no gap."""
    found = events(key, limit=100)
    assert [event.number for event in found] == list(range(1, len(found) + 1))
    return [event.kind.value for event in found]


def title_of(event: Event) -> str:
    """The title that a change gave the ticket."""
    return str((event.changes["title"] or ("", ""))[1])


def row_of(partition: str, number: int) -> dict[str, Any]:
    """A stored row."""
    key = dynamodb.marshal({"pk": partition, "sk": number})
    answer = dynamodb.call("get_item", {"TableName": dynamodb.table_name("tickets"), "Key": key})
    return dynamodb.unmarshal(answer.get("Item", {}))


@pytest.fixture
def xyz(tables: str) -> Project:
    """A project without tickets."""
    return project_services.create_project(key="XYZ", name="Rest", by="ann").value


@pytest.fixture
def days_later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """A function that moves the clock of the application by so many days."""
    now = timezone.now

    def pass_by(days: float) -> None:
        monkeypatch.setattr(timezone, "now", lambda: now() + timedelta(days=days))

    return pass_by


@pytest.fixture
def before_the_write(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """A function that makes something happen once between the read of a change and its write."""
    put_next = sequences.put_next

    def happen(something: Callable[[], object]) -> None:
        def put(*args: Any, **kwargs: Any) -> Any:
            monkeypatch.setattr(recording, "put_next", put_next)
            something()
            return put_next(*args, **kwargs)

        monkeypatch.setattr(recording, "put_next", put)

    return happen


class TestHistory:
    def test_a_change_tells_the_values_before_and_after(self, ticket: Ticket) -> None:
        """An event says who changed which field from what to what, and when; fields that stay are left out."""
        changed = change(title="Printer is out", labels=["hot", "ink"], assignee="", status="done")
        [event] = events()
        assert (event.number, event.kind, event.by, event.at) == (1, Kind.CHANGE, "bob", changed.updated_at)
        assert event.changes == {
            "labels": (["hot"], ["hot", "ink"]),
            "status": ("open", "done"),
            "title": ("Printer on fire", "Printer is out"),
        }
        assert (changed.updated_by, ticket.updated_by) == ("bob", "ann")

    def test_a_long_text_is_not_kept_twice(self, ticket: Ticket) -> None:
        """Of a description the timeline says only that it changed."""
        change(description="Fourth floor.")
        assert events()[0].changes == {"description": None}
        assert "Fourth" not in str(row_of("ABC#1#", 1))

    def test_a_change_of_nothing_is_no_change(self, ticket: Ticket) -> None:
        """A request that changes no field writes nothing; one for another version is refused all the same."""
        operations = requests_from_now()
        assert change(title="Printer on fire") == ticket
        assert operations == ["GetItem"]
        assert kinds() == []
        with pytest.raises(StaleVersion):
            change(2, title="Printer on fire")

    def test_a_change_costs_two_reads_and_one_write(self, ticket: Ticket) -> None:
        """The ticket and the end of its timeline are read; the change and its event are one transaction."""
        operations = requests_from_now()
        change()
        assert operations == ["GetItem", "Query", "TransactWriteItems"]

    def test_what_cannot_be_changed_costs_one_read(self, ticket: Ticket) -> None:
        """A change of an old version is refused before anything is written."""
        change()
        operations = requests_from_now()
        with pytest.raises(StaleVersion):
            change(title="x")
        assert operations == ["GetItem"]

    def test_a_key_makes_no_stale_version_pass(self, ticket: Ticket) -> None:
        """A new request with a token is refused for an old version, a later one, and a void ticket, as any other."""
        change()
        for version in (1, 3):
            with pytest.raises(StaleVersion):
                change(version, token="t", title="x")
        services.void_ticket(ABC_1, by="ann")
        with pytest.raises(TicketVoided):
            change(3, token="t", title="x")
        assert kinds() == ["change", "void"]

    def test_any_version_takes_what_is_there(self, ticket: Ticket) -> None:
        """Without a version a change is made of the ticket as it is."""
        change()
        assert change(None, title="Out").version == 3
        assert events()[1].changes == {"title": ("Printer on fire", "Out")}

    def test_a_timeline_is_read_from_both_ends_by_pages(self, ticket: Ticket) -> None:
        """Each page goes on where the one before ended; a cursor of one order is none of the other."""
        for number in range(5):
            comment(f"x{number}")
        for newest_first, wanted in ((False, [1, 2, 3, 4, 5]), (True, [5, 4, 3, 2, 1])):
            cursor, told = None, list[int]()
            while True:
                page = timeline.list_events(ticket, cursor=cursor, limit=2, newest_first=newest_first)
                told, cursor = [*told, *(event.number for event in page.results)], page.next_cursor
                if cursor is None:
                    break
            assert told == wanted
        first = timeline.list_events(ticket, limit=2).next_cursor
        with pytest.raises(InvalidInput):
            timeline.list_events(ticket, cursor=first, newest_first=True)

    def test_a_number_that_an_operator_has_skipped(self, ticket: Ticket) -> None:
        """What a guarded change has put into a timeline is told with who, when and why."""
        advance("timeline", to=2, scope="ABC#1", by="root", reason="A test.")
        assert comment().number == 3
        first, *_ = events()
        assert (first.kind, first.by, first.text) == (Kind.SKIPPED, "root", "A test.")


class TestRepeats:
    def test_a_repeat_changes_nothing(self, ticket: Ticket) -> None:
        """A repeat of a change, a comment and a voiding finds what is there now, from any process."""
        assert change(token="t").version == 2
        first = comment(token="u")
        change(2, title="Out")
        dynamodb.reset()
        assert change(token="t").title == "Out"
        assert comment(token="u") == first
        services.void_ticket(ABC_1, by="bob", idempotency_token="v")
        services.restore_ticket(ABC_1, by="ann")
        assert services.void_ticket(ABC_1, by="bob", idempotency_token="v").ticket.void is None
        assert kinds() == ["change", "comment", "change", "void", "restore"]

    def test_a_change_without_values(self) -> None:
        """A change of long texts alone keeps their names, and no values under a key."""
        row = store_timeline.change_row({"description": None}, key="no key", by="ann", at=timezone.now())
        assert (row["changes"], row.get("values")) == ({"description": None}, None)

    def test_the_log_has_a_restoring_once(self, ticket: Ticket, caplog: pytest.LogCaptureFixture) -> None:
        """A repeat restores nothing, and adds no line."""
        services.void_ticket(ABC_1, by="bob")
        with caplog.at_level(logging.INFO, "tickets"):
            for _ in range(2):
                services.restore_ticket(ABC_1, by="ann", idempotency_token="w")
                assert [line for line in caplog.messages if "restored" in line] == ["ticket ABC-1 restored by ann"]

    def test_a_token_stands_for_one_request_about_a_ticket(self, ticket: Ticket) -> None:
        """The same token with other content is refused, a long text included; another person's token is another."""
        change(token="t", description="One.")
        for other in (
            lambda: change(token="t", description="Two."),
            lambda: comment(token="t"),
            lambda: services.void_ticket(ABC_1, by="bob", idempotency_token="t"),
        ):
            with pytest.raises(IdempotencyMismatch):
                other()
        change(2, by="ann", token="t", description="Two.")
        assert kinds() == ["change", "change"]

    @pytest.mark.parametrize("token", [None, "t"])
    def test_a_lost_answer_is_one_event(
        self, ticket: Ticket, lose_answer: Callable[[], None], token: str | None
    ) -> None:
        """What was stored although its answer was lost is stored once, and answered as stored."""
        lose_answer()
        assert change(token=token).version == 2
        lose_answer()
        assert comment(token=token and "u").number == 2
        lose_answer()
        assert services.void_ticket(ABC_1, by="bob", idempotency_token=token and "v").ticket.version == 3
        lose_answer()
        assert services.restore_ticket(ABC_1, by="bob", idempotency_token=token and "w").ticket.version == 4
        assert kinds() == ["change", "comment", "void", "restore"]
        assert selectors.get_ticket(ABC_1).comments == 1


class TestRaces:
    def test_of_two_changes_of_a_version_one_wins(
        self, ticket: Ticket, before_the_write: Callable[[Callable[[], object]], None]
    ) -> None:
        """The condition of the write refuses who has read a version that is gone by then."""
        before_the_write(lambda: change(title="First", by="ann"))
        with pytest.raises(StaleVersion) as refused:
            change(title="Second")
        assert refused.value.current.title == "First"
        assert kinds() == ["change"]

    def test_a_change_of_any_version_is_planned_again(
        self, ticket: Ticket, before_the_write: Callable[[Callable[[], object]], None]
    ) -> None:
        """Who names no version changes what somebody has just changed, and the timeline tells both."""
        before_the_write(lambda: change(title="First", by="ann"))
        assert change(None, title="Second").version == 3
        assert [event.changes["title"] for event in events()] == [("Printer on fire", "First"), ("First", "Second")]

    def test_an_operator_is_faster(
        self, ticket: Ticket, before_the_write: Callable[[Callable[[], object]], None]
    ) -> None:
        """A ticket that becomes void without a new version is not changed any more."""
        before_the_write(lambda: void("tickets", 1, scope="ABC", by="root", reason="Wrong."))
        with pytest.raises(TicketVoided):
            change()
        assert kinds() == []

    def test_a_comment_beside_a_change(
        self, ticket: Ticket, before_the_write: Callable[[Callable[[], object]], None]
    ) -> None:
        """A comment at the same moment refuses no change, and is not lost by it."""
        before_the_write(comment)
        assert change().version == 2
        assert kinds() == ["comment", "change"]
        assert selectors.get_ticket(ABC_1).comments == 1

    def test_a_comment_on_a_ticket_that_leaves(
        self, ticket: Ticket, xyz: Project, before_the_write: Callable[[Callable[[], object]], None]
    ) -> None:
        """Who comments while a ticket is moved is told where it is, and nothing is stored."""
        before_the_write(lambda: moves.move_ticket(ABC_1, to="XYZ", by="ann"))
        with pytest.raises(TicketMoved):
            comment()
        assert kinds(XYZ_1) == ["move"]
        assert selectors.get_ticket(XYZ_1).comments == 0

    def test_a_move_takes_a_comment_of_the_same_moment_along(
        self, ticket: Ticket, xyz: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A comment between the read of a move and its write is counted where the ticket goes."""
        put_next = sequences.put_next

        def put(*args: Any, **kwargs: Any) -> Any:
            monkeypatch.setattr(moves, "put_next", put_next)
            comment()
            return put_next(*args, **kwargs)

        monkeypatch.setattr(moves, "put_next", put)
        assert moves.move_ticket(ABC_1, to="XYZ", by="ann", version=1).ticket.comments == 1
        assert kinds(XYZ_1) == ["comment", "move"]

    def test_many_at_once_leave_no_gap(self, ticket: Ticket) -> None:
        """Of sixteen who comment and change together each is in the timeline once, and of the changes one wins."""

        def act(index: int) -> str | None:
            try:
                return comment(f"x{index}").text if index % 2 else change(title=f"x{index}").title
            except StaleVersion:
                return None

        told = [text for text in at_once(16, act) if text]
        stored = [event.text or title_of(event) for event in events()]
        assert sorted(stored) == sorted(told)
        assert Counter(kinds()) == {"comment": 8, "change": 1}
        assert selectors.get_ticket(ABC_1).comments == 8

    @pytest.mark.needs_engine
    def test_under_faults_each_request_is_one_event(self, abc: Project, proxy: Proxy) -> None:
        """While answers are lost and requests come late, what was answered is there once, and nothing twice."""
        file("x")
        with engine_at(proxy.endpoint):
            proxy.follow(*FAULTS, seed=12)

            def act(index: int) -> list[str]:
                return [f"{index}.{turn}" for turn in range(6) if try_to(f"{index}.{turn}", turn)]

            def try_to(text: str, turn: int) -> bool:
                try:
                    if turn % 3 == 0:
                        change(None, title=text, token=text if turn else None)
                    else:
                        comment(text, token=text if turn % 2 else None)
                except (SequenceError, StaleVersion):
                    return False
                return True

            told = list(chain.from_iterable(at_once(6, act)))
            faults = proxy.log.names
            proxy.calm()
            proxy.settle()
            found, now = events(limit=100), selectors.get_ticket(ABC_1)
            stored = Counter(event.text or title_of(event) for event in found)
        assert len(told) > 6
        assert any(fault.startswith("lose") for fault in faults)
        assert set(stored.values()) == {1}
        assert set(told) <= stored.keys()
        assert len(kinds()) == len(found)
        changed = [event for event in found if event.kind is Kind.CHANGE]
        assert (now.version, now.comments) == (1 + len(changed), len(found) - len(changed))
        titles = [event.changes["title"] for event in changed]
        assert [pair and pair[0] for pair in titles] == ["x", *(pair and pair[1] for pair in titles[:-1])]
        assert audit(strategies["timeline"], "ABC#1").unexplained == 0


class TestMoving:
    def test_a_timeline_travels_with_its_ticket(self, ticket: Ticket, xyz: Project) -> None:
        """However often a ticket moves, its comments and changes are told at its present place, numbered on."""
        comment()
        for key, to in ((ABC_1, "XYZ"), (XYZ_1, "ABC")):
            moves.move_ticket(key, to=to, by="bob")
        back = TicketKey(project="ABC", number=2)
        assert comment("Here again.", key=back).number == 4
        services.update_ticket(back, version=3, changes={"status": "done"}, by="bob")
        assert kinds(back) == ["comment", "move", "move", "comment", "change"]
        told = [event.changes.get("key") for event in events(back)]
        assert told[1:3] == [("ABC-1", "XYZ-1"), ("XYZ-1", "ABC-2")]
        assert selectors.get_ticket(back).comments == 2

    def test_each_ticket_has_a_timeline_of_its_own(self, ticket: Ticket, xyz: Project) -> None:
        """The ticket that is filed after another has left does not get its timeline."""
        moves.move_ticket(ABC_1, to="XYZ", by="bob")
        assert kinds(file("x").ticket.key) == []
        assert kinds(file("y", "XYZ").ticket.key) == []

    def test_a_renamed_project_keeps_its_timelines(self, ticket: Ticket) -> None:
        """Under its new key a ticket has the timeline that it had."""
        comment()
        project_services.update_project("ABC", changes={"key": "NEW"}, by="ann")
        assert kinds(TicketKey(project="NEW", number=1)) == ["comment"]


class TestComments:
    def test_a_comment_is_numbered_and_counted(self, ticket: Ticket) -> None:
        """A comment has the next number of the timeline; it leaves the version of the ticket as it is."""
        change()
        made = comment(" Mine\r\ntoo. ")
        assert (made.number, made.text, made.by, made.version) == (2, "Mine\ntoo.", "bob", 1)
        now = selectors.get_ticket(ABC_1)
        assert timeline.get_comment(now, 2) == made
        assert (now.version, now.comments) == (2, 1)

    def test_a_comment_among_long_ones_is_shown(self, browser: Client, ticket: Ticket) -> None:
        """Who comments comes to a page that has the comment, however long the others are."""
        for _ in range(20):
            comment("\u8a9e" * 20_000)
        page = browser.post("/ABC-1/comments/", {"text": "Here."}, follow=True)
        assert 'id="event-21"' in page.content.decode()

    def test_a_comment_costs_two_reads_and_a_write(self, ticket: Ticket) -> None:
        """A comment is not read again, and comes with the ticket that has one comment more."""
        operations = requests_from_now()
        made = comments.add_comment(ABC_1, text="Mine too.", by="bob")
        assert operations == ["GetItem", "Query", "TransactWriteItems"]
        assert made.ticket == selectors.get_ticket(ABC_1)
        again = comments.add_comment(ABC_1, text="Mine too.", by="bob")
        assert (made.ticket.comments, again.ticket.comments, again.comment.number, again.replayed) == (1, 2, 2, False)

    @pytest.mark.parametrize("text", ["", " ", "x" * 20_001, "a\x00"])
    def test_a_comment_has_limits(self, ticket: Ticket, text: str) -> None:
        """A comment that is empty, too long or has control characters is refused by name."""
        with pytest.raises(InvalidInput) as refused:
            comment(text)
        assert set(refused.value.message_dict) == {"text"}

    def test_its_author_changes_and_withdraws_it(self, ticket: Ticket) -> None:
        """A comment keeps its number and its place, whatever becomes of its text."""
        made = comment()
        edited = comments.edit_comment(ticket, 1, text="Not mine.", by="bob", version=1)
        assert (edited.text, edited.version, edited.at) == ("Not mine.", 2, made.at)
        assert edited.edited_at
        assert timeline.get_comment(ticket, 1) == edited
        withdrawn = comments.withdraw_comment(ticket, 1, by="bob", version=2)
        assert (withdrawn.text, withdrawn.by) == ("", "bob")
        assert withdrawn.void is not None
        assert "mine" not in str(row_of("ABC#1#", 1))
        assert comments.withdraw_comment(ticket, 1, by="bob") == withdrawn
        with pytest.raises(CommentVoided):
            comments.edit_comment(ticket, 1, text="Back.", by="bob", version=None)
        assert comment().number == 2
        assert audit(strategies["timeline"], "ABC#1").unexplained == 0

    def test_nobody_else_changes_it(self, ticket: Ticket) -> None:
        """Who did not write a comment can neither change nor withdraw it, and learns who can."""
        made = comment()
        acts: list[Callable[[], object]] = [
            lambda: comments.edit_comment(ticket, 1, text="x", by="ann", version=1),
            lambda: comments.withdraw_comment(ticket, 1, by="ann"),
        ]
        for act in acts:
            with pytest.raises(NotAllowed, match="Only bob"):
                act()
        assert timeline.get_comment(ticket, 1) == made

    def test_of_two_changes_of_a_comment_one_wins(self, ticket: Ticket, lose_answer: Callable[[], None]) -> None:
        """An old version is refused with the comment as it is now; a lost answer is recognised."""
        comment()
        lose_answer()
        edited = comments.edit_comment(ticket, 1, text="Out.", by="bob", version=1)
        with pytest.raises(StaleVersion, match="Comment 1 of ABC-1 was changed") as refused:
            comments.edit_comment(ticket, 1, text="Lost.", by="bob", version=1)
        assert refused.value.current == edited

    def test_a_change_of_any_version_is_made_once(self, ticket: Ticket, lose_answer: Callable[[], None]) -> None:
        """What is sent again after a lost answer is one change, each time."""
        comment()
        for text, version in (("Out.", 2), ("In.", 3)):
            lose_answer()
            edited = comments.edit_comment(ticket, 1, text=text, by="bob", version=None)
            assert (edited.text, edited.version) == (text, version)

    def test_a_repeat_that_cannot_read_denies_nothing(self, ticket: Ticket, monkeypatch: pytest.MonkeyPatch) -> None:
        """If a repeat cannot read the comment, the error says that it may be stored."""
        comment(token="k")

        def refuse(*_: object) -> Event:
            raise StorageError("It cannot be read.")

        monkeypatch.setattr(timeline, "get_comment", refuse)
        with pytest.raises(SequenceUnavailable) as refused:
            comment(token="k")
        assert refused.value.outcome_unknown

    @pytest.mark.parametrize("number", [1, 2])
    def test_what_is_no_comment_is_not_found(self, ticket: Ticket, number: int) -> None:
        """A change, and a number that was not given, are no comments."""
        change()
        acts: list[Callable[[], object]] = [
            lambda: timeline.get_comment(ticket, number),
            lambda: comments.edit_comment(ticket, number, text="x", by="bob", version=1),
            lambda: comments.withdraw_comment(ticket, number, by="bob"),
        ]
        for act in acts:
            with pytest.raises(CommentNotFound):
                act()
        assert kinds() == ["change"]

    def test_what_cannot_be_commented_on(self, ticket: Ticket) -> None:
        """A ticket that does not exist or is void gets no comment."""
        with pytest.raises(TicketNotFound):
            comment(key=TicketKey(project="ABC", number=7))
        services.void_ticket(ABC_1, by="ann")
        with pytest.raises(TicketVoided):
            comment()
        assert kinds() == ["void"]

    def test_comments_are_listed_without_the_changes(self, ticket: Ticket, monkeypatch: pytest.MonkeyPatch) -> None:
        """A list of comments leaves the changes between them out, and looks at a bounded number of events a page."""
        for number in range(4):
            change(None, title=f"x{number}")
            comment(f"y{number}")
        page = timeline.list_comments(ticket, limit=3)
        assert [one.text for one in page.results] == ["y0", "y1", "y2"]
        rest = timeline.list_comments(ticket, limit=3, cursor=page.next_cursor)
        assert ([one.text for one in rest.results], rest.next_cursor) == (["y3"], None)
        monkeypatch.setattr(tables, "MOST_ROWS", 2)
        short = timeline.list_comments(ticket, limit=2)
        assert [one.text for one in short.results] == ["y0"]
        assert timeline.list_comments(ticket, limit=2, cursor=short.next_cursor).results[0].text == "y1"


class TestVoiding:
    def test_the_timeline_keeps_who_when_and_why(self, ticket: Ticket) -> None:
        """Who voided a ticket is told; what its fields were is not shown while it has no content."""
        change(title="Secret")
        voided = services.void_ticket(ABC_1, by="ann", reason="A duplicate.").ticket
        assert voided.sealed_until == voided.updated_at + MONTH
        changed, event = events()
        assert changed.changes == {"title": None}
        assert (event.kind, event.by, event.at, event.text) == (Kind.VOID, "ann", voided.updated_at, "A duplicate.")

    @pytest.mark.parametrize("token", [None, "a token"])
    def test_no_row_tells_what_a_void_ticket_was(self, ticket: Ticket, xyz: Project, token: str | None) -> None:
        """Besides the sealed row no row has former values, nor a digest by which they can be guessed."""
        change(title="Secret", assignee="carol", labels=["quiet"], description="Nobody knows.", token=token)
        moves.move_ticket(ABC_1, to="XYZ", by="bob")
        change_of_xyz = {"title": "More secret", "status": "done"}
        services.update_ticket(XYZ_1, version=3, changes=change_of_xyz, by="bob")
        services.void_ticket(XYZ_1, by="ann")
        rows = [row_of("ABC", 1), row_of("XYZ", 1), *(row_of("ABC#1#", number) for number in range(1, 5))]
        told = str(rows)
        words = ["secret", "carol", "quiet", "nobody knows", "printer", "third", "hot", "done"]
        assert [word for word in words if re.search(rf"\b{word}\b", told, re.IGNORECASE)] == []  # tokens are random
        content = {"title": "Secret", "assignee": "carol", "labels": ["quiet"], "description": "Nobody knows."}
        assert fingerprint(content) not in told
        assert not any("values_key" in row for row in rows)
        assert ("asked" in rows[2]) is (token is not None)

    def test_a_repeat_of_a_restore(self, ticket: Ticket, xyz: Project) -> None:
        """A repeat of a restore is one, whatever has become of the ticket; without a key it says what is the matter."""
        services.void_ticket(ABC_1, by="ann")

        def restore(token: str | None = "t") -> TicketStored:
            return services.restore_ticket(ABC_1, by="ann", idempotency_token=token)

        assert not restore().replayed
        assert restore().replayed
        assert not restore(None).replayed
        assert not restore("other").replayed
        services.void_ticket(ABC_1, by="ann")
        assert restore().ticket.void
        services.restore_ticket(ABC_1, by="ann")
        moves.move_ticket(ABC_1, to="XYZ", by="bob")
        assert restore().ticket.key == XYZ_1
        for token in (None, "other"):
            with pytest.raises(TicketMoved):
                restore(token)
        assert kinds(XYZ_1) == ["void", "restore", "void", "restore", "move"]

    def test_a_restored_ticket_has_its_history_back(self, ticket: Ticket, xyz: Project) -> None:
        """All values come back with the content, also after moves; what follows is told under the same key."""
        change(title="Secret")
        change(2, title="More secret")
        moves.move_ticket(ABC_1, to="XYZ", by="bob")
        before = events(XYZ_1)
        services.void_ticket(XYZ_1, by="ann")
        assert [event.changes.get("title") for event in events(XYZ_1)] == [None] * 4
        services.restore_ticket(XYZ_1, by="ann")
        assert events(XYZ_1)[:3] == before
        assert [title_of(event) for event in before[:2]] == ["Secret", "More secret"]
        services.update_ticket(XYZ_1, version=None, changes={"title": "Told"}, by="bob")
        assert [title_of(event) for event in (events(XYZ_1)[0], events(XYZ_1)[5])] == ["Secret", "Told"]

    def test_values_under_another_key_are_not_shown(self, ticket: Ticket) -> None:
        """Who has another key than the ticket's sees which fields changed, and no values."""
        change(title="Secret")
        other = replace(selectors.get_ticket(ABC_1), values_key=store.timeline.values_key({}))
        assert timeline.list_events(other).results[0].changes == {"title": None}

    def test_the_content_is_sealed_where_a_time_to_live_removes_it(self, ticket: Ticket) -> None:
        """The ticket's row has no content; another row has it, with the attribute by which DynamoDB deletes rows."""
        voided = services.void_ticket(ABC_1, by="ann").ticket
        assert not {"title", "description", "assignee", "labels"} & row_of("ABC", 1).keys()
        sealed = row_of("ABC#1#sealed", 0)
        assert sealed["content"]["title"] == "Printer on fire"
        assert voided.sealed_until is not None
        assert sealed["marker_expires_at"] == int(voided.sealed_until.timestamp())

    def test_an_operator_leaves_the_content(self, ticket: Ticket) -> None:
        """A ticket that became void by its number keeps its content, and is not restored."""
        void("tickets", 1, scope="ABC", by="root", reason="Wrong.")
        now = selectors.get_ticket(ABC_1)
        assert (now.status, now.title, now.sealed_until) == (Status.VOID, "Printer on fire", None)
        with pytest.raises(ContentGone, match="by an operator"):
            services.restore_ticket(ABC_1, by="ann")

    def test_only_the_reporter_in_time(
        self, ticket: Ticket, before_the_write: Callable[[Callable[[], object]], None]
    ) -> None:
        """What only the reporter may do, and only for a while, is refused for others and later, and stores nothing."""
        soon, late = ticket.created_at, ticket.created_at + timedelta(microseconds=1)
        for only in ({"only_by": "bob"}, {"only_by": "ann", "since": late}):
            with pytest.raises(NotAllowed):
                services.void_ticket(ABC_1, by="bob", **only)
        with pytest.raises(NotAllowed):
            services.update_ticket(ABC_1, version=1, changes={"title": "x"}, by="bob", only_by="bob")
        assert kinds() == []
        own = services.update_ticket(ABC_1, version=1, changes={"title": "x"}, by="ann", only_by="ann")
        assert own.ticket.title == "x"
        assert services.void_ticket(ABC_1, by="ann", only_by="ann", since=soon).ticket.void

    def test_the_write_itself_asks_who_may(self, ticket: Ticket, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without the look before, the condition of the write refuses the wrong person and the wrong time."""
        monkeypatch.setattr(store.tickets.Own, "holds", lambda *_: True)
        late = datetime(2100, 1, 1, tzinfo=UTC)
        for only in ({"only_by": "bob"}, {"only_by": "ann", "since": late}):
            with pytest.raises(StaleVersion):
                services.void_ticket(ABC_1, by="bob", **only)
        assert selectors.get_ticket(ABC_1) == ticket

    def test_whole_seconds_have_their_place_among_moments(self, abc: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        """Times are compared as times, with fractions of a second or without."""
        noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
        monkeypatch.setattr(timezone, "now", lambda: noon)
        file("x")
        tick = timedelta(microseconds=1)
        with pytest.raises(NotAllowed):
            services.void_ticket(ABC_1, by="ann", only_by="ann", since=noon + tick)
        assert services.void_ticket(ABC_1, by="ann", only_by="ann", since=noon - tick).ticket.void


class TestRestoring:
    def test_a_restored_ticket_is_as_it_was(self, ticket: Ticket) -> None:
        """All content comes back, the status too; the version counts on, and the timeline tells both."""
        before = change(description="Fourth floor.", assignee="bob", status="in_progress")
        services.void_ticket(ABC_1, by="ann", version=2)
        restored = services.restore_ticket(ABC_1, by="ann", reason="Not a duplicate.").ticket
        assert restored == selectors.get_ticket(ABC_1)
        for name in ("title", "description", "status", "assignee", "labels", "reporter", "created_at"):
            assert getattr(restored, name) == getattr(before, name)
        assert (restored.version, restored.void, restored.sealed_until) == (4, None, None)
        assert kinds() == ["change", "void", "restore"]
        assert events()[2].text == "Not a duplicate."
        assert "content" not in row_of("ABC#1#sealed", 0)
        assert services.restore_ticket(ABC_1, by="bob").ticket == restored

    @pytest.mark.parametrize(("days", "gone"), [(29.9, False), (30.1, True)])
    def test_after_thirty_days_the_content_is_gone(
        self, ticket: Ticket, days_later: Callable[[float], None], days: float, gone: bool
    ) -> None:
        """The time counts, also while DynamoDB has not deleted the row yet."""
        services.void_ticket(ABC_1, by="ann")
        days_later(days)
        assert row_of("ABC#1#sealed", 0)["content"]
        if gone:
            with pytest.raises(ContentGone, match="no content any more"):
                services.restore_ticket(ABC_1, by="ann")
        assert (services.void_ticket(ABC_1, by="ann").ticket.void is None) is False
        if not gone:
            assert services.restore_ticket(ABC_1, by="ann").ticket.title == "Printer on fire"

    def test_a_row_that_was_deleted_is_gone(self, ticket: Ticket) -> None:
        """Where DynamoDB has deleted the sealed row, nothing is restored."""
        services.void_ticket(ABC_1, by="ann")
        key = dynamodb.marshal({"pk": "ABC#1#sealed", "sk": 0})
        dynamodb.call("delete_item", {"TableName": dynamodb.table_name("tickets"), "Key": key})
        with pytest.raises(ContentGone):
            services.restore_ticket(ABC_1, by="ann")

    def test_a_stale_version_is_refused(self, ticket: Ticket) -> None:
        """Who read an earlier version restores nothing."""
        services.void_ticket(ABC_1, by="ann")
        with pytest.raises(StaleVersion):
            services.restore_ticket(ABC_1, by="ann", version=1)
        assert services.restore_ticket(ABC_1, by="ann", version=2).ticket.void is None

    @pytest.mark.parametrize("version", [None, 2])
    def test_a_second_voiding_is_not_undone_by_the_content_of_the_first(
        self,
        ticket: Ticket,
        before_the_write: Callable[[Callable[[], object]], None],
        version: int | None,
    ) -> None:
        """A restore that a second voiding overtakes is refused, or restores what the second one has sealed."""
        services.void_ticket(ABC_1, by="ann")

        def overtake() -> None:
            services.restore_ticket(ABC_1, by="bob")
            change(3, title="Newer")
            services.void_ticket(ABC_1, by="bob")

        before_the_write(overtake)
        if version:
            with pytest.raises(StaleVersion):
                services.restore_ticket(ABC_1, by="ann", version=version)
            assert selectors.get_ticket(ABC_1).void
        else:
            assert services.restore_ticket(ABC_1, by="ann").ticket.title == "Newer"

    def test_a_voiding_between_the_two_reads(self, ticket: Ticket, monkeypatch: pytest.MonkeyPatch) -> None:
        """Content that was sealed after the ticket was read is not taken for that of the ticket that was read."""
        services.void_ticket(ABC_1, by="ann")
        find, raced = store.timeline.find_sealed, list[bool]()

        def find_later(*args: Any, **kwargs: Any) -> Any:
            if not raced:
                raced.append(True)
                services.restore_ticket(ABC_1, by="bob")
                services.void_ticket(ABC_1, by="bob")
            return find(*args, **kwargs)

        monkeypatch.setattr(store.timeline, "find_sealed", find_later)
        with pytest.raises(StaleVersion):
            services.restore_ticket(ABC_1, by="ann")
        assert kinds() == ["void", "restore", "void"]

    def test_many_who_void_and_restore(self, ticket: Ticket) -> None:
        """Whoever wins, the ticket is void or whole, and the timeline alternates."""

        def act(index: int) -> None:
            try:
                (services.restore_ticket if index % 2 else services.void_ticket)(ABC_1, by="bob")
            except (ContentGone, StaleVersion):
                pass

        at_once(8, act)
        now, told = selectors.get_ticket(ABC_1), kinds()
        assert told == (["void", "restore"] * len(told))[: len(told)]
        assert (now.version, bool(now.void)) == (1 + len(told), told[-1] == "void")
        assert now.title == ("" if now.void else "Printer on fire")

    def test_a_moved_ticket_is_sealed_at_its_timeline(self, ticket: Ticket, xyz: Project) -> None:
        """A ticket that has moved is voided and restored as any other, under its present key."""
        moves.move_ticket(ABC_1, to="XYZ", by="bob")
        services.void_ticket(XYZ_1, by="bob")
        with pytest.raises(TicketMoved):
            services.restore_ticket(ABC_1, by="bob")
        assert services.restore_ticket(XYZ_1, by="bob").ticket.title == "Printer on fire"


class TestAudit:
    def test_without_projects_there_are_no_timelines(self, tables: str) -> None:
        """The list is empty, and ends."""
        assert timeline.list_scopes(None, 5) == ([], None)

    def test_the_last_page(self, ticket: Ticket) -> None:
        """The page of the last ticket of the last project has no cursor."""
        comment()
        assert timeline.list_scopes(None, 100) == (["ABC#1"], None)

    def test_the_sequence_lists_the_timelines(self, ticket: Ticket, xyz: Project) -> None:
        """Every ticket that was changed has a timeline, under its first place, whatever the size of the pages."""
        for number in range(4):
            file(f"x{number}")
        comment(key=TicketKey(project="ABC", number=3))
        moves.move_ticket(ABC_1, to="XYZ", by="bob")
        services.void_ticket(file("y", "XYZ").ticket.key, by="bob")
        for limit in (1, 2, 100):
            found, cursor = timeline.list_scopes(None, limit)
            while cursor is not None:
                more, cursor = timeline.list_scopes(cursor, limit)
                found += more
            assert found == ["ABC#1", "ABC#3", "XYZ#2"]

    def test_projects_beside_each_other(self, tables: str) -> None:
        """A page goes on in its project, also where the key before it is another project's."""
        keys = [project_services.create_project(key=f"NEIGHBOUR{n}", name=f"{n}", by="ann").value.key for n in "12"]
        for key in keys * 2:
            comment(key=file("x", key).ticket.key)
        found, cursor = timeline.list_scopes(None, 1)
        while cursor is not None and len(found) < 9:
            more, cursor = timeline.list_scopes(cursor, 1)
            found += more
        assert found == [f"{key}#{number}" for key in keys for number in (1, 2)]

    def test_the_audit_explains_every_number(
        self, ticket: Ticket, xyz: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The command finds each comment and change, and nothing else."""
        comment()
        change()
        moves.move_ticket(ABC_1, to="XYZ", by="bob")
        call_command("sequences", "audit", "timeline")
        report = audit(strategies["timeline"], "ABC#1")
        assert (report.last_value, report.carried, report.unexplained) == (3, 3, 0)
        assert "ABC#1" in capsys.readouterr().out


class TestRows:
    ROW: Row = {"pk": "ABC", "sk": 7, "title": "Printer", "labels": ["hot"], "status": "open", "version": 3}
    NOW = datetime(2026, 1, 31, tzinfo=UTC)

    def test_an_event_has_what_is_said(self) -> None:
        """What is empty is not stored; an event of nothing else is its kind, its person and its time."""
        row = store_timeline.event_row(Kind.VOID, by="bob", at=self.NOW, text="", more=("a",))
        assert row == {"kind": "void", "by": "bob", "at": self.NOW.isoformat(), "more": ["a"]}

    def test_the_values_of_a_change_are_encrypted(self) -> None:
        """An event names the fields; who has the ticket's key reads the values, and nobody else."""
        key, told = store_timeline.values_key({}), {"title": ["a", "b"], "description": None}
        row = store_timeline.change_row(told, key=key, by="bob", at=self.NOW, asked="digest")
        assert (row["changes"], row["asked"]) == ({"title": None, "description": None}, "digest")
        stored = {**row, "sk": 1}
        assert store_timeline.event_from_row(stored, key).changes == {"description": None, "title": ("a", "b")}
        for other in ("", store_timeline.values_key({})):
            assert store_timeline.event_from_row(stored, other).changes == {"description": None, "title": None}
        assert "values" not in store_timeline.change_row({"description": None}, key=key, by="bob", at=self.NOW)
        assert store_timeline.values_key({"values_key": "k"}) == "k"

    def test_an_event_from_its_row(self) -> None:
        """What a row lacks is empty, and its first version; one without a kind explains a skipped number."""
        void = {"by": "eve", "at": self.NOW.isoformat(), "reason": "A test."}
        skipped = store_timeline.event_from_row({"sk": 2, "void": void})
        assert (skipped.number, skipped.kind, skipped.by, skipped.at) == (2, Kind.SKIPPED, "eve", self.NOW)
        assert (skipped.text, skipped.changes, skipped.version, skipped.edited_at) == ("A test.", {}, 1, None)
        row = {"sk": 3, "kind": "comment", "by": "bob", "at": self.NOW.isoformat(), "void": void}
        withdrawn = store_timeline.event_from_row({**row, "version": 4, "edited_at": self.NOW.isoformat()})
        assert (withdrawn.kind, withdrawn.by, withdrawn.text, withdrawn.version) == (Kind.COMMENT, "bob", "", 4)
        assert (withdrawn.edited_at, withdrawn.void) == (self.NOW, Void(by="eve", at=self.NOW, reason="A test."))

    def test_where_a_timeline_is(self) -> None:
        """It is named for the first place of its ticket."""
        assert store_timeline.timeline_of(self.ROW) == "ABC#7"
        assert store_timeline.timeline_of({**self.ROW, "origin": {"partition": "OLD", "number": 5}}) == "OLD#5"

    def test_what_rides_with_a_ticket(self) -> None:
        """Exactly: an event under a free number, one comment more, and the content that is sealed and unsealed."""
        put = store_timeline.event_at("ABC#7", 2, {"kind": "move"})
        token = put.row["token"]
        assert put == Put(
            "tickets",
            {"kind": "move", "pk": "ABC#7#", "sk": 2, "token": token},
            condition="attribute_not_exists(pk)",
        )
        assert store_timeline.counting(self.ROW) == Update(
            "tickets",
            {"pk": "ABC", "sk": 7},
            update="ADD #comments :one",
            condition="attribute_exists(pk) AND attribute_not_exists(#void)",
            names={"#comments": "comments", "#void": "void"},
            values={":one": 1},
        )
        place, seconds = {"pk": "ABC#7#sealed", "sk": 0}, int(self.NOW.timestamp())
        content = {"status": "open", "title": "Printer", "labels": ["hot"]}
        sealed = {**place, "content": content, "version": 4, "marker_expires_at": seconds}
        assert store_timeline.sealing(self.ROW, until=self.NOW) == Put("tickets", sealed)
        assert store_timeline.sealing({"pk": "ABC", "sk": 7}, until=self.NOW).row["version"] == 2
        assert store_timeline.unsealing(self.ROW, at=self.NOW) == Update(
            "tickets",
            place,
            update="SET #marker_expires_at = :marker_expires_at REMOVE #0",
            names={"#marker_expires_at": "marker_expires_at", "#0": "content"},
            values={":marker_expires_at": seconds},
        )
