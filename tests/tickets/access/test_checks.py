"""What a person may do and see, by the access to a project that the process knows: no read is needed."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from unittest.mock import Mock

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from pytest_django import Settings

from tickets import selectors, store
from tickets.access import checks
from tickets.access.actions import ALLOWED, IN_ARCHIVE, NEEDED, Action
from tickets.access.token_scopes import TokenScope
from tickets.exceptions import (
    InvalidInput,
    NotAllowed,
    NotFound,
    ProjectArchived,
    ProjectNotFound,
    TicketMoved,
    TicketNotFound,
)
from tickets.timeline.types import Event, Kind
from tickets.types import (
    Access,
    Moved,
    Page,
    Project,
    Role,
    Status,
    Stored,
    Ticket,
    TicketKey,
    TicketPage,
    TicketStored,
)

NOW, HOUR = datetime(2026, 1, 31, 12, tzinfo=UTC), timedelta(hours=1)
ABC_1, XYZ_1, OLD_1 = (TicketKey(project=project, number=1) for project in ("ABC", "XYZ", "OLD"))
TICKET = Ticket(
    key=ABC_1, title="Printer", description="", status=Status.OPEN, assignee="", labels=(), reporter="reporter",
    created_at=NOW, updated_at=NOW, version=1,
)  # fmt: skip
MOVED = Moved(to=XYZ_1, by="ann", at=NOW)


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Project ABC has a person for each role, OLD is in the archive; XYZ has a stranger, and MISS is not there."""
    roles = {role.value: role for role in Role}
    known = {"ABC": roles, "OLD": roles, "XYZ": {"stranger": Role.OWNER}}

    def find(key: str, name: str) -> Access:
        if key not in known:
            raise ProjectNotFound(key)
        return Access(role=known[key].get(name), archived=key == "OLD")

    monkeypatch.setattr(store.members, "find_access", find)


def person(name: str, **about: Any) -> Any:
    """A person, whom nobody has to store."""
    return User(username=name, **about)


def test_the_names_of_actions() -> None:
    """Templates name what somebody may do by these words."""
    words = "read file comment change_own void_own change move void restore edit_project archive manage_members"
    assert [*map(str, Action)] == words.split()


def test_what_each_role_may_do() -> None:
    """Each may do what those before it may, and more."""
    found = {role: {action for action in ALLOWED[role] if NEEDED[action] is role} for role in Role}
    assert [len(found[role]) for role in Role] == [1, 4, 2, 5]
    for lower, higher in pairwise(Role):
        assert ALLOWED[higher] == ALLOWED[lower] | found[higher]


class TestWhoMayDoIt:
    @pytest.mark.parametrize(
        ("need", "name", "error"),
        [
            (None, "stranger", None),
            (Action.READ, "reader", None),
            (Action.FILE, "reader", NotAllowed),
            (Action.FILE, "reporter", None),
            (Action.READ, "stranger", ProjectNotFound),
        ],
    )
    def test_what_is_needed(self, need: Any, name: str, error: type[Exception] | None) -> None:
        """Nothing, or an action in the project, which its people may do."""
        if error is None:
            checks.admit(person(name), need, "ABC")
        else:
            with pytest.raises(error):
                checks.admit(person(name), need, "ABC")

    def test_a_permission(self, settings: Settings) -> None:
        """One of Django's; a setting gives everybody the one to add projects, and no other."""
        settings.EVERYBODY_MAY_ADD_PROJECTS = False
        stranger, operator = person("stranger"), person("root", is_superuser=True)
        stranger.has_perm = lambda permission: permission == "tickets.view_order"
        checks.admit(stranger, "tickets.view_order")
        for permission in ("tickets.add_project", "tickets.add_order"):
            checks.admit(operator, permission)
            with pytest.raises(NotAllowed, match=permission):
                checks.admit(stranger, permission)
        settings.EVERYBODY_MAY_ADD_PROJECTS = True
        checks.admit(stranger, "tickets.add_project")
        with pytest.raises(NotAllowed):
            checks.admit(stranger, "tickets.add_order")

    def test_why_it_is_refused(self) -> None:
        """The role that it takes and the one that they have; or the archive, where the role would do."""
        with pytest.raises(NotAllowed, match=r"role in project ABC is reader\. This needs the role owner"):
            checks.require(person("reader"), Action.ARCHIVE, ABC_1)
        for name, about in (("member", {}), ("root", {"is_staff": True})):
            with pytest.raises(ProjectArchived, match="OLD"):
                checks.require(person(name, **about), Action.CHANGE, OLD_1)
        with pytest.raises(NotAllowed):
            checks.require(person("reader"), Action.CHANGE, OLD_1)
        checks.require(person("reader"), Action.READ, OLD_1)

    @pytest.mark.parametrize("key", ["MISS", "ABC", TicketKey(project="MISS", number=7), ABC_1])
    def test_what_is_hidden_is_missing(self, key: str | TicketKey) -> None:
        """A stranger learns of no project and no ticket; the error names what was asked for."""
        error = TicketNotFound if isinstance(key, TicketKey) else ProjectNotFound
        with pytest.raises(error, match=f"{key}"):
            checks.require(person("stranger"), Action.READ, key)
        assert checks.actions_of(person("stranger"), key) == frozenset()

    def test_a_token_of_another_project(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is refused before anything is read."""
        monkeypatch.setattr(store.places.renames, "partition", lambda key: key)
        owner = person("owner")
        owner.token_scope = TokenScope(project="XYZ")
        monkeypatch.setattr(store.members, "find_access", None)
        with pytest.raises(PermissionDenied, match="project XYZ only"):
            checks.require(owner, Action.READ, "ABC")
        assert checks.actions_of(owner, "ABC") == frozenset()

    def test_the_staff(self) -> None:
        """They see and do everything; not any more, when their account is closed."""
        staff = [{"is_staff": True}, {"is_superuser": True}]
        assert [checks.is_staff(person("x", **about)) for about in staff] == [True, True]
        assert [checks.is_staff(person("x", is_active=False, **about)) for about in staff] == [False, False]
        assert not checks.is_staff(person("x"))
        assert not checks.is_staff(AnonymousUser())
        assert checks.actions_of(person("x", is_staff=True), "XYZ") == frozenset(Action)
        assert checks.actions_of(person("x", is_staff=True), "OLD") == IN_ARCHIVE
        assert (checks.seen_by(person("x")), checks.seen_by(person("x", is_staff=True))) == ("x", None)


class TestOnesOwn:
    def test_whose_tickets(self) -> None:
        """A reporter changes their own alone, and voids them for an hour; an owner does it with all."""
        reporter, owner = person("reporter"), person("owner")
        assert checks.only_by(reporter, Action.CHANGE_OWN, ABC_1) == "reporter"
        assert checks.only_by(owner, Action.CHANGE_OWN, ABC_1) is None
        assert checks.limits_of_void(reporter, ABC_1, now=NOW) == {"only_by": "reporter", "since": NOW - HOUR}
        assert checks.limits_of_void(owner, ABC_1, now=NOW) == {}

    @pytest.mark.parametrize(
        ("name", "age", "more"),
        [
            ("reporter", HOUR, {Action.CHANGE, Action.VOID}),
            ("reporter", HOUR + timedelta(seconds=1), {Action.CHANGE}),
            ("reader", HOUR, set()),
            ("member", timedelta(), set()),
        ],
    )
    def test_what_they_may_do_with_a_ticket(self, name: str, age: timedelta, more: set[Action]) -> None:
        """With their own one what others may do with all; the reporter of this one is "reporter"."""
        found, allowed = (
            checks.actions_with(person(name), TICKET, now=NOW + age),
            checks.actions_of(person(name), "ABC"),
        )
        assert found == allowed | more

    def test_it_is_said_before_somebody_types(self) -> None:
        """A ticket of another person is refused, and one's own that is too old: in other words."""
        assert checks.require_with(person("reporter"), Action.CHANGE_OWN, TICKET, now=NOW) is TICKET
        assert checks.require_with(person("owner"), Action.VOID_OWN, TICKET, now=NOW) is TICKET
        other, late = replace(TICKET, reporter="ann"), NOW + 2 * HOUR
        said = []
        for action, ticket in ((Action.CHANGE_OWN, other), (Action.VOID_OWN, TICKET)):
            with pytest.raises(NotAllowed) as refused:
                checks.require_with(person("reporter"), action, ticket, now=late)
            said.append(f"{refused.value}")
        wanted = [NotAllowed.not_own(ABC_1, in_time=in_time) for in_time in (False, True)]
        assert said == [f"{error}" for error in wanted]

    def test_where_a_ticket_may_go(self) -> None:
        """To a project in which they file; a hidden one is as a missing one, and as what is no key."""
        checks.require_target(person("reporter"), "ABC")
        for project in ("XYZ", "MISS", "abc"):
            with pytest.raises(InvalidInput) as refused:
                checks.require_target(person("reporter"), project)
            assert set(refused.value.message_dict) == {"to"}
        with pytest.raises(NotAllowed):
            checks.require_target(person("reader"), "ABC")
        with pytest.raises(ProjectArchived):
            checks.require_target(person("owner"), "OLD")


class TestSight:
    def test_a_ticket_that_has_moved_out_of_sight(self) -> None:
        """It is not found at its former key; one that moved within sight is told."""
        away = TicketMoved(ABC_1, replace(TICKET, key=XYZ_1))
        hidden = checks.hiding(away, person("owner"))
        assert (type(hidden), f"{hidden}") == (TicketNotFound, f"{TicketNotFound(ABC_1)}")
        assert checks.hiding(away, person("stranger")) is away

    @pytest.mark.parametrize(
        ("key", "replayed", "told"), [(ABC_1, True, True), (XYZ_1, False, True), (XYZ_1, True, False)]
    )
    def test_what_a_repeat_shows(self, key: TicketKey, replayed: bool, told: bool) -> None:
        """What an earlier request stored is not shown if it is out of sight by now."""
        owner, stored = person("owner"), TicketStored(ticket=replace(TICKET, key=key), replayed=replayed)
        project = Stored(value=Project(key=key.project, name="x", description=""), replayed=replayed)
        assert (checks.out_of_sight(owner, stored) is None) is told
        if told:
            checks.require_in_sight(owner, stored)
            checks.require_project_in_sight(owner, project)
        else:
            with pytest.raises(NotFound, match="moved to a project that you may not see"):
                checks.require_in_sight(owner, stored)
            with pytest.raises(NotFound, match="you may not see it any more"):
                checks.require_project_in_sight(owner, project)

    @pytest.mark.parametrize(
        ("moved", "to"),
        [(None, None), (MOVED, None), (replace(MOVED, to=OLD_1), OLD_1), (replace(MOVED, to=None), None)],
    )
    def test_where_a_ticket_of_a_list_has_gone(self, moved: Moved | None, to: TicketKey | None) -> None:
        """It is said only if the person may see the project there; who moved it, and when, stays."""
        ticket = replace(TICKET, moved=moved)
        page = TicketPage(results=(ticket, TICKET), next_cursor="n", previous_cursor=None)
        shown = checks.in_sight(page, person("owner"))
        assert shown.results == (replace(ticket, moved=moved and replace(moved, to=to)), TICKET)
        assert shown.next_cursor == "n"

    def test_what_texts_mention(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Only tickets of projects in sight are links."""
        found = Mock(return_value={ABC_1: TICKET, XYZ_1: TICKET, OLD_1: TICKET})
        monkeypatch.setattr(selectors, "find_mentioned", found)
        assert set(checks.find_mentioned([ABC_1], person("reader"))) == {ABC_1, OLD_1}
        assert found.call_args.args == ([ABC_1], "reader")

    def test_a_history_hides_keys(self) -> None:
        """A move has nothing in the place of a key of a hidden project; other events stay as they are."""
        move = Event(number=1, kind=Kind.MOVE, by="ann", at=NOW, changes={"key": ("XYZ-1", "ABC-1")})
        told = [
            replace(move, changes={"key": ("ABC-1", "XYZ-1")}),
            replace(move, kind=Kind.CHANGE),
            replace(move, changes={}),
        ]
        page = Page(results=(move, *told), next_cursor="n", previous_cursor=None)
        shown = checks.history_in_sight(page, person("reader"))
        assert [event.changes for event in shown.results] == [
            {"key": (None, "ABC-1")},
            {"key": ("ABC-1", None)},
            {"key": ("XYZ-1", "ABC-1")},
            {},
        ]
        assert shown.next_cursor == "n"
