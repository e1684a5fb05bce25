"""Rules for single scopes: made, followed at once by every process, and never with a text of another scope."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.contrib.auth.models import AnonymousUser
from rest_framework.permissions import AllowAny
from rest_framework.test import APIRequestFactory, force_authenticate

from project.proof.faults.control import Proxy
from project.proof.faults.plans import Rule
from sequences import (
    afind,
    aget_item,
    aget_last_value,
    aget_next_value,
    aitems,
    aput_next,
    dynamodb,
    find,
    format_value,
    get_item,
    get_last_value,
    get_next_value,
    get_next_values,
    items,
    parse,
    preview,
    put_next,
    put_next_each,
    put_next_many,
    put_next_together,
    series,
)
from sequences.actions import TEXT, Delete, value_text
from sequences.changes import (
    EVERY_SCOPE,
    EveryScope,
    advance,
    close,
    freeze,
    history,
    put_at,
    recover,
    reopen,
    thaw,
    void,
)
from sequences.changes.apply import ChangeRequest
from sequences.dynamodb.client import EngineClock
from sequences.exceptions import (
    GaveUp,
    InvalidChange,
    InvalidItem,
    InvalidPeriod,
    InvalidScope,
    InvalidSequence,
    InvalidText,
    OperationNotSupported,
    RulesChanged,
    SequenceExhausted,
    SequenceFrozen,
)
from sequences.management.changes import _following
from sequences.ops.audit import audit
from sequences.ops.doctor import diagnose
from sequences.ops.scope_report import look_at
from sequences.registry import configured as entries
from sequences.registry import parse_config, strategies
from sequences.rest.views import NextValuesView
from sequences.rows import line_rows
from sequences.series import Line
from sequences.strategies import BlockAllocator, watch
from sequences.strategies import lines as scope_lines
from sequences.testing.embedded import Engine
from sequences.types import Allocation, StoredItem
from tests.sequences.support import Processes, Wire, set_counter, tables_of, tapped, written

WHO: dict[str, Any] = {"by": "ana", "reason": "a test"}
AT = "sequences.strategies."
SEQUENCES: dict[str, dict[str, Any]] = {
    "invoices": {
        "STRATEGY": f"{AT}TransactionalCounter",
        "TABLE": "documents",
        "PERIOD": "year",
        "FORMAT": "INV-{scope}-{period}-{value}",
        "SERIES": "series",
    },
    "beside": {
        "STRATEGY": f"{AT}TransactionalCounter",
        "TABLE": "documents",
        "FORMAT": "BES-{scope}-{value}",
        "SERIES": "sequences",
        "OPTIONS": {"counter_table": "documents"},
    },
    "transactional": {"STRATEGY": f"{AT}TransactionalCounter", "FORMAT": "T-{scope}-{value}", "SERIES": "series"},
    "atomic": {"STRATEGY": f"{AT}AtomicCounter", "FORMAT": "A-{scope}-{value}", "SERIES": "series"},
    "optimistic": {"STRATEGY": f"{AT}OptimisticCounter", "FORMAT": "O-{scope}-{value}", "SERIES": "series"},
    "by-put": {
        "STRATEGY": f"{AT}OptimisticCounter",
        "FORMAT": "P-{scope}-{value}",
        "SERIES": "series",
        "OPTIONS": {"write": "put"},
    },
    "block": {
        "STRATEGY": f"{AT}BlockAllocator",
        "FORMAT": "B-{scope}-{value}",
        "SERIES": "series",
        "OPTIONS": {"watch_seconds": 3600},  # a look is a request, and other tests count them
    },
    "single": {"STRATEGY": f"{AT}TransactionalCounter", "FORMAT": "S-{value}", "SERIES": "series"},
    "plain": {"STRATEGY": f"{AT}TransactionalCounter", "FORMAT": "N-{scope}-{value}"},
    "numbers": {"STRATEGY": f"{AT}TransactionalCounter", "SERIES": "series"},
}
EVERY = ["transactional", "beside", "atomic", "optimistic", "by-put", "block"]
RESERVING = ["atomic", "optimistic", "by-put", "block"]
NOON = datetime.now(UTC).replace(hour=12)
TODAY = NOON.date()
BEGAN = time.monotonic()


@pytest.fixture(scope="module")
def configured(engine: Engine) -> Iterator[str]:
    """The sequences of this file, in place of those of every test."""
    with tables_of(SEQUENCES, engine.endpoint) as prefix:
        yield prefix


pytestmark = pytest.mark.usefixtures("configured", "unhurried")


@pytest.fixture(autouse=True)
def _one_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """The day stays TODAY, also when the tests run past midnight: the engine's clock began at noon."""
    monkeypatch.setattr(EngineClock, "now", lambda clock: NOON.timestamp() + time.monotonic() - BEGAN)


@contextmanager
def elsewhere() -> Iterator[None]:
    """Be another process: one that remembers nothing of this one, and of which this one remembers nothing."""
    made, lines = strategies._made, strategies._lines
    strategies._made, strategies._lines = {}, {}
    try:
        yield
    finally:
        strategies._made, strategies._lines = made, lines


def put(sequence: str, scope: str, token: str | None = None, **more: Any) -> str:
    """Store an item; the text of its number."""
    return put_next(sequence, {"title": "a"}, scope=scope, idempotency_token=token, **more).text


def two_lines(scope: str, *, maximum: int) -> tuple[Line, Line]:
    """A line up to `maximum`, and another one from 10 on."""
    return Line(format=f"{scope}-{{value}}", maximum=maximum), Line(format=f"{scope}/{{value}}", start=10)


def in_row(sequence: str, scope: str, *lines: Line) -> None:
    """Give a scope these lines."""
    first, *others = lines
    series.create(sequence, scope, first, **WHO)
    for line in others:
        series.add_line(sequence, scope, line, **WHO)


class TestCreate:
    @pytest.mark.parametrize("sequence", EVERY)
    def test_one_scope(self, sequence: str, scope: str) -> None:
        """A scope has its own rules from its first number on, and the others have those of the settings."""
        series.create(sequence, scope, Line(format=f"{scope}/{{value:05d}}", start=5000), **WHO)
        assert [put(sequence, scope) for _ in range(2)] == [f"{scope}/05000", f"{scope}/05001"]
        assert put(sequence, f"{scope}x").endswith(f"-{scope}x-1")
        assert series.lines_of(sequence, scope).lines == (Line(format=f"{scope}/{{value:05d}}", start=5000),)

    def test_a_line_from_0_on(self, scope: str) -> None:
        """0 is a start as any other, also where the settings begin later."""
        series.create("atomic", scope, Line(format=f"{scope}/{{value}}", start=0), **WHO)
        with elsewhere():
            assert [put("atomic", scope) for _ in range(2)] == [f"{scope}/0", f"{scope}/1"]
        assert series.lines_of("atomic", scope).lines[0].start == 0

    def test_a_name_for_people(self, scope: str) -> None:
        """It comes with the rules; a later change of them leaves it, and a wrong one makes nothing."""
        line = Line(format=f"{scope}/{{value}}")
        with pytest.raises(InvalidChange, match=r"name is '.*'; it must have 1 to 200 characters"):
            series.create("atomic", scope, line, name="a\nb", **WHO)
        series.create("atomic", scope, line, name="Ada\u00a0& Sons", **WHO)
        series.change_line("atomic", scope, Line(format=f"{scope}!{{value}}"), **WHO)
        assert dict(series.page("atomic", limit=1000)[0])[scope].name == "Ada\u00a0& Sons"

    def test_changes_are_counted(self, scope: str) -> None:
        """Each change of the rules of any scope has the next version, which is the same for all processes."""
        series.create("atomic", scope, Line(format=f"{scope}/{{value}}"), **WHO)
        first = series.lines_of("atomic", scope).version
        series.change_line("atomic", scope, Line(format=f"{scope}!{{value}}"), **WHO)
        assert series.lines_of("atomic", scope).version == first + 1

    def test_a_name_alone(self, scope: str) -> None:
        """A scope gets a name without lines, its numbers stay, and the history has who named it."""
        before = put("atomic", scope)
        change = series.name_scope("atomic", scope, "Ada & Sons", **WHO)
        assert (change.kind, change.by, change.before, change.after) == ("series", "ana", 1, 1)
        assert (series.lines_of("atomic", scope).name, series.lines_of("atomic", scope).lines) == ("Ada & Sons", ())
        assert [put("atomic", scope), parse(before, "atomic").value] == [f"A-{scope}-2", 1]
        assert [one.kind for one in history("atomic", scope=scope)[0]] == ["series"]

    @pytest.mark.parametrize("name", ["", " ", "x" * 201, "a\x07", 7])
    def test_what_is_no_name(self, name: Any, scope: str, wire: Wire) -> None:
        """A name has 1 to 200 characters, and no control characters; nothing is sent for another one."""
        with pytest.raises(InvalidChange, match=r"^name is .*; it must have 1 to 200 characters"):
            series.name_scope("atomic", scope, name, **WHO)
        assert wire.operations == []

    @pytest.mark.parametrize("name", ["x", "x" * 200])
    def test_the_shortest_name_and_the_longest(self, name: str, scope: str) -> None:
        """Both are kept."""
        series.name_scope("atomic", scope, name, **WHO)
        assert series.lines_of("atomic", scope).name == name

    def test_texts(self, scope: str) -> None:
        """Texts are written, looked ahead, read and found by the rules of the scope, whether it is named or not."""
        series.create("invoices", scope, Line(format=f"{scope}/{{period}}/{{value:03d}}", start=7), **WHO)
        text = put("invoices", scope, date=date(2025, 3, 1))
        assert text == format_value(7, "invoices", scope=scope, date=date(2025, 3, 1)) == f"{scope}/2025/007"
        assert preview(2, "invoices", scope=scope, date=date(2025, 3, 1)) == [f"{scope}/2025/008", f"{scope}/2025/009"]
        for named in (scope, None):
            parsed = parse(text.upper(), "invoices", scope=named)
            assert (parsed.value, parsed.scope, parsed.period, parsed.text) == (7, scope, "2025", text)
            found = find(text, "invoices", scope=named)
            assert found
            assert (found.value, found.text) == (7, text)
        assert get_item("invoices", 7, scope=scope, period="2025") == found
        assert [item.text for item in items("invoices", scope=scope, period="2025")] == [text]
        with pytest.raises(InvalidText):
            parse("nothing of this kind", "invoices")

    @pytest.mark.parametrize("sequence", EVERY)
    def test_a_scope_that_has_numbers(self, sequence: str, scope: str) -> None:
        """It goes on in its counter; what it had stays, and is found by its text."""
        before = put(sequence, scope)
        series.create(sequence, scope, Line(format=f"{scope}/{{value}}"), **WHO)
        after = put(sequence, scope)
        value = parse(after, sequence, scope=scope).value
        assert value > 1
        assert after == f"{scope}/{value}"
        for text, number in ((before, 1), (after, value)):
            found = find(text, sequence, scope=scope)
            assert found
            assert (found.value, found.text if sequence != "none" else text) == (number, found.text)
        assert [one.valid_from for one in series.lines_of(sequence, scope).lines] == [None, TODAY]

    @pytest.mark.parametrize("period", ["day", "month", "quarter", "year", "fiscal-year"])
    def test_a_scope_that_has_older_numbers(self, period: str, scope: str, settings: Any) -> None:
        """Whenever it has counted, what it had stays: it is found, goes on for documents of then, and is recovered."""
        alias = f"each-{period}"
        settings.SEQUENCES = {alias: {**SEQUENCES["invoices"], "PERIOD": period}}
        before = date(2016, 12, 31)  # the last day of a leap year
        texts = [put(alias, scope, date=before), put(alias, f"{scope}x", date=date(1999, 1, 1))]
        series.create(alias, scope, Line(format=f"{scope}/{{period}}/{{value}}", start=5000), **WHO)
        assert [one.valid_from for one in series.lines_of(alias, scope).lines] == [None, TODAY]
        texts.append(put(alias, scope, date=before))
        assert [(found := find(text, alias)) and found.text for text in texts] == texts
        assert texts[-1] == f"{texts[0][:-1]}2"
        assert [one.after for one in recover(alias, scope=EveryScope(scope), margin=7, **WHO)] == [8, 9]
        assert put(alias, scope).endswith("/5000")

    def test_a_line_that_has_older_numbers(self, scope: str) -> None:
        """It keeps its start, as one that has numbers of today."""
        series.create("invoices", scope, Line(format=f"{scope}/{{period}}/{{value}}", period="month"), **WHO)
        put("invoices", scope, date=date(2016, 5, 5))
        with pytest.raises(InvalidChange, match="start must stay None: the line has begun"):
            series.change_line("invoices", scope, Line(period="month", start=5000), **WHO)

    def test_other_periods(self, scope: str) -> None:
        """A line may have another period than the settings, or none: it counts apart from them."""
        series.create("invoices", scope, Line(format=f"{scope}/{{period}}/{{value}}", period="month"), **WHO)
        days = (date(2026, 1, 5), date(2026, 2, 5), date(2026, 1, 6))
        assert [put("invoices", scope, date=day) for day in days] == [
            f"{scope}/2026-01/1",
            f"{scope}/2026-02/1",
            f"{scope}/2026-01/2",
        ]
        series.create("invoices", f"{scope}n", Line(format=f"{scope}n/{{value}}", period="never"), **WHO)
        assert [put("invoices", f"{scope}n", date=day) for day in days] == [f"{scope}n/{n}" for n in (1, 2, 3)]

    def test_a_dry_run(self, scope: str) -> None:
        """It checks all, and writes nothing."""
        line = Line(format=f"{scope}/{{value}}")
        series.create("atomic", scope, line, dry_run=True, **WHO)
        with pytest.raises(InvalidChange):
            series.create("atomic", scope, Line(start=-1), dry_run=True, **WHO)
        assert series.lines_of("atomic", scope).lines == ()
        assert series.preview("atomic", scope, line) == [f"{scope}/1", f"{scope}/2", f"{scope}/3"]
        assert series.lines_of("atomic", scope).lines == ()

    def test_the_history(self, scope: str) -> None:
        """It says who changed the rules, when and why."""
        series.create("atomic", scope, Line(format=f"{scope}/{{value}}"), **WHO)
        series.add_line("atomic", scope, Line(format=f"{scope}+{{value}}"), **WHO)
        series.change_line("atomic", scope, Line(format=f"{scope}_{{value}}"), **WHO)
        changes = history("atomic", scope=scope)[0]
        told = [(change.kind, change.by, change.reason, change.scope) for change in changes]
        assert told == 3 * [("series", "ana", "a test", scope)]

    def test_one_of_several_lines(self, scope: str) -> None:
        """A line takes the place of another one and keeps its former FORMATs, each once; the others stay."""
        lines = [
            Line(format=f"{scope}{sign}{{value}}", start=start) for sign, start in zip("-/+", (1, 50, 90), strict=True)
        ]
        lines[0], lines[1] = dataclasses.replace(lines[0], maximum=9), dataclasses.replace(lines[1], maximum=60)
        in_row("atomic", scope, *lines)
        forms = [f"{scope}/{{value}}", f"{scope}:{{value}}", f"{scope}.{{value}}"]
        for form, former in ((1, (0,)), (2, (0, 1)), (0, (1, 2)), (0, (1, 2))):
            line = dataclasses.replace(lines[1], format=forms[form])
            series.change_line("atomic", scope, line, place=1, **WHO)
            expected = dataclasses.replace(line, former=tuple(forms[one] for one in former))
            assert series.lines_of("atomic", scope).lines == (lines[0], expected, lines[2])

    def test_a_line_without_a_former_text(self, scope: str) -> None:
        """Where a line had the FORMAT of the settings, no other one is kept."""
        series.create("atomic", scope, Line(), **WHO)
        series.change_line("atomic", scope, Line(format=f"{scope}-{{value}}"), **WHO)
        assert series.lines_of("atomic", scope).lines == (Line(format=f"{scope}-{{value}}"),)

    def test_what_would_come(self, scope: str) -> None:
        """The next texts by a line in the place of another one, or after it; so many as are asked for."""
        series.create("atomic", scope, Line(format=f"{scope}-{{value}}", maximum=9), **WHO)
        line = Line(format=f"{scope}/{{value}}", start=10)
        assert series.preview("atomic", scope, line, count=1) == [f"{scope}-1"]
        changed = Line(format=f"{scope}/{{value}}")
        assert series.preview("atomic", scope, changed, place=0) == [f"{scope}/{value}" for value in (1, 2, 3)]
        assert history("atomic", scope=scope)[0][1:] == []
        put("atomic", scope)
        assert series.preview("atomic", scope, changed, place=0, count=1) == [f"{scope}/2"]
        today = dataclasses.replace(line, valid_from=TODAY)
        assert series.preview("atomic", scope, today, count=2) == [f"{scope}/10", f"{scope}/11"]

    def test_pages(self, scope: str) -> None:
        """All scopes with lines are listed, sorted, page by page."""
        for name in "cab":
            series.create("by-put", f"{scope}{name}", Line(format=f"{scope}{name}/{{value}}"), **WHO)
        found: list[str] = []
        cursor = None
        while True:
            page, cursor = series.page("by-put", cursor, 2)
            found += [name for name, _ in page if name]
            if cursor is None:
                break
        assert found == sorted(found)
        assert {f"{scope}a", f"{scope}b", f"{scope}c"} <= set(found)

    def test_the_length_of_a_page(self, wire: Wire) -> None:
        """A page has 100 scopes, if nothing else is said."""
        series.page("by-put")
        assert wire.sent[-1].body["Limit"] == 100

    def test_without_a_scope(self) -> None:
        """The sequence without scope has lines, too, where its texts are apart from those of all scopes."""
        assert series.lines_of("optimistic", None).lines == ()
        with pytest.raises(InvalidChange, match=r"format has \{scope\}"):
            series.create("optimistic", None, Line(format="O/{scope}/{value}"), **WHO)
        with pytest.raises(InvalidChange, match="'optimistic' by its settings"):
            series.create("optimistic", None, Line(format="O-x-{value}"), **WHO)
        series.create("optimistic", None, Line(format="OPT/{value:03d}", start=7), **WHO)
        assert put_next("optimistic", {}).text == "OPT/007"
        found = find("opt/007", "optimistic")
        assert found
        assert (found.scope, found.value) == (None, 7)
        assert None in [scope for scope, _ in series.page("optimistic")[0]]

    def test_settings_that_take_no_scope(self, scope: str) -> None:
        """Scopes may have lines where the FORMAT of the settings has no {scope}; others are refused as before."""
        assert put_next("single", {}).text == "S-1"
        series.create("single", scope, Line(format=f"{scope}/{{value}}"), **WHO)
        assert put("single", scope) == f"{scope}/1"
        with pytest.raises(InvalidScope):
            put("single", f"{scope}x")
        series.create("single", None, Line(format="SINGLE-{value}"), **WHO)
        assert put_next("single", {}).text == "SINGLE-2"

    def test_scopes_of_any_text(self, scope: str) -> None:
        """Also a scope that sorts before all others is listed."""
        series.create("optimistic", f"!{scope}", Line(format=f"!{scope}/{{value}}"), **WHO)
        assert f"!{scope}" in [name for name, _ in series.page("optimistic", None, 1000)[0]]

    def test_closed_books(self, scope: str) -> None:
        """A period is closed by its name also where a line counts by months, and is opened again."""
        series.create("invoices", scope, Line(format=f"{scope}/{{period}}/{{value}}", period="month"), **WHO)
        put("invoices", scope, date=date(2024, 5, 5))
        close("invoices", "2024-05", **WHO)
        for name in (scope, f"{scope}b"):
            if name != scope:
                series.create("invoices", name, Line(format=f"{name}/{{period}}/{{value}}", period="month"), **WHO)
            with pytest.raises(SequenceFrozen):
                put("invoices", name, date=date(2024, 5, 6))
        assert put("invoices", scope, date=date(2024, 6, 1)) == f"{scope}/2024-06/1"
        reopen("invoices", "2024-05", **WHO)
        assert put("invoices", scope, date=date(2024, 5, 6)) == f"{scope}/2024-05/2"


def test_no_rider_writes_lines(scope: str) -> None:
    """What rides with an item leaves the rules of scopes alone."""
    series.create("transactional", scope, Line(start=5000), **WHO)
    row = {"sequence": "#series#transactional", "scope": scope}
    with pytest.raises(InvalidItem, match=r"also\[0\], a Delete: .*#series#.* keeps for itself"):
        put_next("transactional", {}, scope=scope, also=[Delete("series", row)])
    assert series.lines_of("transactional", scope)


def test_values_by_a_line_with_dates(scope: str) -> None:
    """Who asks for values by REST names the date if the line of the scope writes it: a repeat has the same texts."""

    def ask(scope: str) -> Any:
        request = APIRequestFactory().post("/", {"scope": scope}, format="json")
        force_authenticate(request, AnonymousUser())
        return NextValuesView.as_view(permission_classes=(AllowAny,))(request, name="atomic")

    series.create("atomic", scope, Line(format=f"{scope}-{{year}}-{{value}}"), **WHO)
    assert [ask(one).status_code for one in (scope, f"{scope}b")] == [400, 200]


class TestRefused:
    @pytest.mark.parametrize(
        ("line", "said"),
        [
            (Line(start=-1), "start is -1; it must be a whole number from 0"),
            (Line(step=0), "step is 0; it must be a whole number from 1"),
            (Line(format="no number"), r"format is 'no number'; it must have {value}.*\.$"),
            (Line(format="X{value}", period="decade"), "period is 'decade'; it must be one of"),
            (Line(format="X{value}", strategy="sequences.strategies.None"), r"which cannot be imported: .*\.$"),
            (
                Line(format="X{value}", strategy=f"{AT}SortKeyMaximum"),
                r"(has no counter.*|must be one with a counter)\.$",
            ),
            (
                Line(format="X{value}", valid_from=TODAY),
                r"valid_from must be left out: the first line begins at once\.$",
            ),
            (Line(format="X{value}", code="\n"), "code is '\\\\n'; it must be a text of up to 100 printable"),
            (Line(format="X{value}", warn_on="soon"), "warn_on is 'soon'; it must be a date"),  # type: ignore[arg-type]
            (Line(format="X{value}", period="year"), "the sequence has no PERIOD"),
        ],
    )
    def test_a_wrong_line(self, scope: str, line: Line, said: str) -> None:
        """The error names the field and what it may be, and nothing is written."""
        with pytest.raises(InvalidChange, match=said):
            series.create("transactional", scope, line, **WHO)
        assert series.lines_of("transactional", scope).lines == ()

    @pytest.mark.parametrize(
        ("field", "value", "wanted"),
        [
            *(("start", value, "a whole number from 0") for value in ("1", True, 10**38)),
            *((name, 0, "a whole number from 1") for name in ("maximum", "warn_at")),
            *((name, "soon", "a date, or None") for name in ("valid_from", "valid_to", "warn_on")),
            ("warn_on", datetime(2026, 1, 1), "a date, or None"),  # noqa: DTZ001 - it has no time zone
            *((name, 5, "a text, or None") for name in ("format", "strategy")),
            ("period", "decade", "one of 'never', 'day', 'month', 'quarter', 'year', 'fiscal-year'"),
            *(("code", value, "a text of up to 100 printable characters") for value in ("x" * 101, 5)),
        ],
    )
    def test_what_a_field_must_be(self, scope: str, field: str, value: Any, wanted: str) -> None:
        """A wrong value is named, with all that the field may be."""
        with pytest.raises(InvalidChange) as caught:
            series.create("atomic", scope, Line(**{field: value}), dry_run=True, **WHO)
        assert str(caught.value) == f"Line 1 of {scope!r}: {field} is {value!r}; it must be {wanted}."

    def test_what_a_field_may_be(self, scope: str) -> None:
        """The least and the most that the fields of a line may be."""
        for line in (
            Line(start=0, step=1, maximum=1, warn_at=1),
            Line(start=10**38 - 2, maximum=10**38 - 1),
            Line(code="x" * 100, valid_to=TODAY, warn_on=TODAY),
        ):
            series.create("atomic", scope, line, dry_run=True, **WHO)

    def test_most_lines(self, scope: str) -> None:
        """A scope has 100 lines at the most."""
        request = ChangeRequest("series", "ana", "a test", dry_run=True)
        for count, said in ((101, "has 101 lines; a scope has 100 at the most"), (100, "^Line 1 of .*: start is -1")):
            with pytest.raises(InvalidChange, match=said):
                series._changed("atomic", scope, lambda _, count=count: count * [Line(start=-1)], request)  # type: ignore[misc]

    @pytest.mark.parametrize(
        ("lines", "said"),
        [
            (
                [Line(start=100, step=10), Line(start=205, step=10)],
                "start is 205; it must be 100 or a later value by its step",
            ),
            ([Line(start=1, maximum=199), Line(start=199)], "start is 199; it must be above the maximum .*, 199"),
            ([Line(start=1, maximum=199), Line(start=200)], None),
            ([Line(start=1, maximum=199), Line(start=1)], None),
            ([Line(start=101, step=10, maximum=105), Line(start=111, step=10)], None),
            ([Line(start=1, maximum=199), Line(start=99, valid_from=TODAY)], None),
            (
                [Line(), Line(valid_from=TODAY), Line(valid_from=TODAY)],
                f"Line 3 .* must be after {TODAY}, as a line before it",
            ),
            (
                [Line(), Line(valid_from=TODAY, maximum=5), Line(start=6), Line(valid_from=TODAY)],
                "Line 4 .* must be after .*",
            ),
            ([Line(), Line(valid_from=TODAY), Line(valid_from=TODAY + timedelta(days=1))], None),
            ([Line(), Line(valid_from=TODAY - timedelta(days=1))], f"it must be {TODAY} or later"),
            ([Line(), Line(valid_from=TODAY, valid_to=TODAY)], None),
            ([Line(start=10, maximum=10)], None),
            ([Line(start=10, maximum=9)], "Line 1 of .*: maximum is 9; it must be a whole number from 10"),
            ([Line(maximum=3), Line(start=4), Line(valid_from=TODAY, start=5, maximum=4)], "Line 3 .* number from 5"),
            (
                [Line(), Line(valid_from=TODAY, valid_to=TODAY - timedelta(days=1))],
                f"valid_to is {TODAY - timedelta(days=1)}; it must not be before valid_from, {TODAY}",
            ),
            (
                [Line(strategy=f"{AT}AtomicCounter"), Line(strategy=f"{AT}BlockAllocator")],
                f"count in one way, not by {AT}AtomicCounter and by {AT}BlockAllocator",
            ),
        ],
    )
    def test_lines_that_follow_each_other(self, scope: str, lines: list[Line], said: str | None) -> None:
        """A later line has the step of the one before, begins above it, or on a later day, and counts as it does."""
        request = ChangeRequest("series", "ana", "a test", dry_run=True)
        with nullcontext() if said is None else pytest.raises(InvalidChange, match=rf"{said}\.$"):
            series._changed("atomic", scope, lambda _: lines, request)

    def test_lines_that_count_apart(self, scope: str) -> None:
        """Where a line has another period, it may begin lower, but not with a text of a line before it."""
        form = f"{scope}-{{period}}-{{value}}"
        series.create("invoices", scope, Line(format=form, start=500), **WHO)
        for kind, form_, said in (
            ("month", f"{scope}/{{period}}/{{value}}", None),
            ("year", f"{scope}/{{period}}/{{value}}", "start is 1; it must be 500"),
            ("fiscal-year", form, r"one of line [12]: .* such as other letters, or put \{scope\} into it\.$"),
        ):
            line = Line(format=form_, period=kind, start=1)
            with nullcontext() if said is None else pytest.raises(InvalidChange, match=said):
                series.add_line("invoices", scope, line, dry_run=True, **WHO)

    def test_a_line_that_has_not_begun(self, scope: str) -> None:
        """A line keeps its fields from its first day on, where there are numbers; before it may change."""
        later = TODAY + timedelta(days=1)
        in_row("atomic", scope, Line(start=5), Line(start=50, valid_from=TODAY), Line(start=500, valid_from=later))
        for place, start, day in ((1, 60, TODAY), (2, 600, later)):
            line = Line(start=start, valid_from=day)
            series.change_line("atomic", scope, line, place=place, dry_run=True, **WHO)
        put("atomic", scope)
        series.change_line("atomic", scope, Line(start=600, valid_from=later), place=2, dry_run=True, **WHO)
        with pytest.raises(InvalidChange, match=r"start must stay 50: the line has begun\. Add another line\.$"):
            series.change_line("atomic", scope, Line(start=60, valid_from=TODAY), place=1, dry_run=True, **WHO)

    def test_the_last_number_of_a_line(self, scope: str) -> None:
        """The last line may end with the last number, and not before."""
        series.create("atomic", scope, Line(start=5), **WHO)
        for _ in range(2):
            put("atomic", scope)
        series.change_line("atomic", scope, Line(start=5, maximum=6), dry_run=True, **WHO)
        with pytest.raises(InvalidChange, match="maximum is 5; the last number is 6 already"):
            series.change_line("atomic", scope, Line(start=5, maximum=5), dry_run=True, **WHO)

    def test_the_last_number_of_a_line_that_is_followed(self, scope: str) -> None:
        """No line ends before the numbers that it gave, also where another one is to follow, or a document is ahead."""
        lines = (
            Line(format=f"{scope}-{{value}}", maximum=99),
            Line(format=f"{scope}/{{value}}", start=100, valid_from=TODAY + timedelta(days=1)),
        )
        in_row("atomic", scope, *lines)
        for count, place, start, day in ((5, 0, 1, TODAY), (3, 1, 100, lines[1].valid_from)):
            for _ in range(count):
                put("atomic", scope, date=day)
            last = start + count - 1
            line = dataclasses.replace(lines[place], maximum=last)
            series.change_line("atomic", scope, line, place=place, dry_run=True, **WHO)
            line = dataclasses.replace(line, maximum=last - 1)
            with pytest.raises(InvalidChange, match=rf"maximum is {last - 1}; the last number is {last} already\.$"):
                series.change_line("atomic", scope, line, place=place, dry_run=True, **WHO)
        series.change_line("atomic", scope, dataclasses.replace(lines[0], maximum=100), dry_run=True, **WHO)

    def test_the_last_number_of_another_period(self, scope: str) -> None:
        """Those of the period before count, too, and those of another kind of period do not."""
        first = Line(format=f"{scope}/{{period}}/{{value}}")
        in_row("invoices", scope, first, Line(format=f"{scope}-{{value}}", period="never", valid_from=TODAY))
        for _ in range(5):
            put("invoices", scope, date=date(TODAY.year - 1, 5, 5))
        put("invoices", scope)
        with pytest.raises(InvalidChange, match="maximum is 4; the last number is 5 already"):
            series.change_line("invoices", scope, dataclasses.replace(first, maximum=4), dry_run=True, **WHO)
        second = Line(format=f"{scope}-{{value}}", period="never", valid_from=TODAY, maximum=2)
        series.change_line("invoices", scope, second, place=1, dry_run=True, **WHO)

    def test_the_last_number_and_the_maximum_of_the_settings(self, scope: str, settings: Any) -> None:
        """A line does not take a lower one from the settings either."""
        settings.SEQUENCES = {"atomic": {**SEQUENCES["atomic"], "MAXIMUM": 3}}
        series.create("atomic", scope, Line(maximum=9), **WHO)
        for _ in range(5):
            put("atomic", scope)
        with pytest.raises(InvalidChange, match="maximum is 3; the last number is 5 already"):
            series.change_line("atomic", scope, Line(), dry_run=True, **WHO)

    def test_a_text_of_two_numbers(self, scope: str) -> None:
        """A FORMAT by which two numbers have the same text is refused with the text."""
        with pytest.raises(InvalidChange, match=r"^format is 'X\{scope\}\{value\}'; '.*' is of .* and of .*\.$"):
            series.create("atomic", scope, Line(format="X{scope}{value}"), **WHO)

    def test_texts_of_another_sequence(self, scope: str) -> None:
        """A text of another sequence is refused where that one names no scopes; bare numbers belong to nobody."""
        with pytest.raises(InvalidChange, match="a text could also be one of 'single' by its settings"):
            series.create("atomic", scope, Line(format="S-{value}"), dry_run=True, **WHO)
        series.create("atomic", scope, Line(format=f"N-{scope}-{{value}}"), dry_run=True, **WHO)
        series.create("atomic", scope, Line(format="{value:07d}"), dry_run=True, **WHO)

    def test_items_that_others_find(self, scope: str, settings: Any) -> None:
        """Where the settings say in which partition the items of a period are, a line has the same PERIOD."""
        changed = {**SEQUENCES["invoices"], "OPTIONS": {"partition": "{sequence}#{period}#{scope}"}}
        settings.SEQUENCES = {**SEQUENCES, "invoices": changed}
        with pytest.raises(InvalidChange, match="period is 'month'; it must be 'year'"):
            series.create("invoices", scope, Line(format=f"{scope}/{{period}}/{{value}}", period="month"), **WHO)
        series.create("invoices", scope, Line(format=f"{scope}/{{period}}/{{value}}", period="year"), **WHO)

    def test_texts_of_another_scope(self, scope: str) -> None:
        """A FORMAT by which another scope could have the same text is refused; with ranges apart it is not."""
        series.create("atomic", scope, Line(format=f"{scope}-{{value}}", start=1, maximum=999), **WHO)
        for format_ in (f"{scope}-{{value}}", f"{scope.upper()} - {{value:06d}}", f"{scope}-1{{value}}"):
            with pytest.raises(InvalidChange, match=f"one of the scope '{scope}'"):
                series.create("atomic", f"{scope}b", Line(format=format_), **WHO)
        series.create("atomic", f"{scope}b", Line(format=f"{scope}-{{value}}", start=1000), **WHO)
        series.create("atomic", f"{scope}c", Line(format=f"{scope}/{{value}}"), **WHO)

    def test_texts_of_an_earlier_number(self, scope: str) -> None:
        """A FORMAT by which a later number could have the text of an earlier one is refused, on a line or after it."""
        first = Line(format=f"{scope}-1{{value}}")
        in_row("atomic", scope, first)
        repeats = Line(format=f"{scope}-{{value}}")
        series.change_line("atomic", scope, repeats, dry_run=True, **WHO)
        for _ in range(10):
            put("atomic", scope)
        said = "a text could also be one of another number by line [12], whose former texts count"
        with pytest.raises(InvalidChange, match=said):
            series.change_line("atomic", scope, repeats, **WHO)
        with pytest.raises(InvalidChange, match=said):
            series.add_line("atomic", scope, dataclasses.replace(repeats, start=20, valid_from=TODAY), **WHO)
        for form in (f"{scope}-1{{value:06d}}", f"{scope}-2026{{value:04d}}", f"{scope}/{{value}}"):
            series.change_line("atomic", scope, Line(format=form), **WHO)
        with pytest.raises(InvalidChange, match=said):
            series.change_line("atomic", scope, repeats, **WHO)

    def test_texts_of_an_earlier_number_of_a_period(self, scope: str) -> None:
        """In periods the texts of all numbers count, as each period begins anew."""
        in_row("invoices", scope, Line(format=f"{scope}-{{period}}1{{value}}"))
        repeats = Line(format=f"{scope}-{{period}}{{value}}")
        series.change_line("invoices", scope, repeats, dry_run=True, **WHO)
        put("invoices", scope)
        with pytest.raises(InvalidChange, match="another number by line 1"):
            series.change_line("invoices", scope, repeats, **WHO)

    def test_texts_of_ranges_that_follow(self, scope: str) -> None:
        """Lines whose numbers have other lengths go together."""
        first = Line(format=f"{scope}-{{value}}", maximum=999)
        in_row("atomic", scope, first, Line(format=f"{scope}-1{{value}}", start=1000))

    def test_texts_of_the_settings(self, scope: str) -> None:
        """So is one that a scope without lines could have, or another sequence."""
        with pytest.raises(InvalidChange, match="'atomic' by its settings"):
            series.create("atomic", scope, Line(format="A-another-{value}"), **WHO)

    def test_texts_of_settings_without_letters(self, scope: str, settings: Any) -> None:
        """Where the FORMAT of the settings begins with {scope}, another scope could be called as a line's text begins.

        A line that no scope's name can lead to is accepted, and so is the FORMAT of the settings itself.
        """
        settings.SEQUENCES = {"bare": {**SEQUENCES["invoices"], "FORMAT": "{scope}-{period}-{value:05d}"}}
        for form in (f"{scope}b-{{period}}-{{value:05d}}", f"{scope}b-{{value}}-{{period}}"):
            with pytest.raises(InvalidChange, match="a text could also be one of 'bare' by its settings"):
                series.create("bare", scope, Line(format=form), **WHO)
        for form in (f"{scope}b/{{period}}/{{value:05d}}", "{scope}/{period}/{value}", "{scope}-{period}-{value:05d}"):
            series.create("bare", scope, Line(format=form), dry_run=True, **WHO)

    def test_numbers_that_would_go_back(self, scope: str) -> None:
        """A later line begins no lower, by the same step, and a line that has begun keeps what numbers depend on."""
        series.create("atomic", scope, Line(format=f"{scope}-{{value}}", start=100, maximum=199), **WHO)
        get_next_value("atomic", scope=scope)
        for line, said in (
            (Line(format=f"{scope}-{{value}}", start=1), "start is 1; it must be 100 or a later value"),
            (Line(format=f"{scope}-{{value}}", start=150), "start is 150; it must be above the maximum"),
            (Line(format=f"{scope}-{{value}}", start=200, step=10), "step is 10; a scope keeps its step"),
            (Line(start=200, valid_from=TODAY - timedelta(days=1)), "valid_from is .*; it must be .* or later"),
        ):
            with pytest.raises(InvalidChange, match=said):
                series.add_line("atomic", scope, line, **WHO)
        for line, said in (
            (Line(format=f"{scope}-{{value}}", start=1), "start must stay 100"),
            (Line(format=f"{scope}-{{value}}", start=100, maximum=50), "maximum is 50; it must be .* from 100"),
        ):
            with pytest.raises(InvalidChange, match=said):
                series.change_line("atomic", scope, line, **WHO)

    def test_a_line_between_others(self, scope: str) -> None:
        """A later line begins after all lines before it."""
        series.create("atomic", scope, Line(format=f"{scope}-{{value}}"), **WHO)
        for start, days in ((100, 5), (200, 9)):
            series.add_line("atomic", scope, Line(start=start, valid_from=TODAY + timedelta(days=days)), **WHO)
        with pytest.raises(InvalidChange, match=f"it must be after {TODAY + timedelta(days=9)}"):
            series.add_line("atomic", scope, Line(start=300, valid_from=TODAY + timedelta(days=7)), **WHO)

    def test_twice(self, scope: str) -> None:
        """A scope that has lines is not created again, and a place without a line is not changed."""
        series.create("atomic", scope, Line(format=f"{scope}-{{value}}"), **WHO)
        with pytest.raises(InvalidChange, match="has lines already"):
            series.create("atomic", scope, Line(format=f"{scope}-{{value}}"), **WHO)
        for place, said in ((1, "place is 1; there are 1 lines"), (-1, "^place is -1; it must be a whole number")):
            with pytest.raises(InvalidChange, match=said):
                series.change_line("atomic", scope, Line(), place=place, **WHO)

    def test_who_and_why(self, scope: str) -> None:
        """They are required, as for every guarded change."""
        with pytest.raises(InvalidChange, match="reason"):
            series.create("atomic", scope, Line(format=f"{scope}-{{value}}"), by="ana", reason="")

    def test_a_sequence_without_series(self, scope: str) -> None:
        """The error names the key that is missing."""
        with pytest.raises(OperationNotSupported, match=r"SEQUENCES\['plain'\]\['SERIES'\]"):
            series.create("plain", scope, Line(), **WHO)

    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"STRATEGY": f"{AT}SortKeyMaximum"}, "SortKeyMaximum has no counter"),
            ({"STEP": 2, "START": {"us-east-1": 1, "eu-west-1": 2}}, "START by Regions does not go together"),
            ({"SERIES": "a b"}, "it must be a table's name"),
        ],
    )
    def test_settings(self, changes: dict[str, Any], said: str, settings: Any) -> None:
        """SERIES is for a strategy with a counter, and names a table."""
        settings.SEQUENCES = {"atomic": {**SEQUENCES["atomic"], **changes}}
        with pytest.raises(InvalidSequence, match=said):
            strategies["atomic"]


class TestLinesInRow:
    @pytest.mark.parametrize("sequence", EVERY)
    def test_a_range_that_is_used_up(self, sequence: str, scope: str) -> None:
        """The next line takes over without a pause, in every process, and the audit explains what lies between."""
        in_row(sequence, scope, *two_lines(scope, maximum=2))
        here = [put(sequence, scope) for _ in range(3)]
        assert here == [f"{scope}-1", f"{scope}-2", f"{scope}/10"]
        with elsewhere():
            there = put(sequence, scope)
        assert there.startswith(f"{scope}/1")
        assert put(sequence, scope).startswith(f"{scope}/1")
        report = audit(strategies.of(sequence, scope), scope)
        assert report.unexplained == 0
        assert "The next line begins at 10." in {gap.reason for gap in report.gaps.listed}

    def test_a_line_after_the_end(self, scope: str) -> None:
        """Where the last line has ended another one is added, and what it gave is read and withdrawn."""
        yesterday = TODAY - timedelta(days=1)
        series.create("transactional", scope, Line(format=f"{scope}-{{value}}", valid_to=yesterday), **WHO)
        text = put("transactional", scope, date=yesterday)
        assert find(text, "transactional", scope=scope) == get_item("transactional", 1, scope=scope)
        assert [one.text for one in items("transactional", scope=scope)] == [
            format_value(1, "transactional", scope=scope)
        ]
        assert get_last_value("transactional", scope=scope) == 1
        freeze("transactional", scope=scope, **WHO)
        thaw("transactional", scope=scope, **WHO)
        void("transactional", 1, scope=scope, **WHO)
        with pytest.raises(SequenceExhausted, match="add another line"):
            put("transactional", scope)
        series.add_line("transactional", scope, Line(format=f"{scope}/{{value}}", valid_from=TODAY), **WHO)
        assert put("transactional", scope) == f"{scope}/2"

    def test_the_text_of_an_earlier_range(self, scope: str) -> None:
        """It is by the line that gave the number, also where a later one counts."""
        in_row("transactional", scope, *two_lines(scope, maximum=2))
        texts = [put("transactional", scope) for _ in range(3)]
        assert [format_value(n, "transactional", scope=scope) for n in (1, 2, 10)] == texts

    def test_what_is_inserted_in_an_item_of_an_earlier_range(self, scope: str, settings: Any) -> None:
        """A number that is stored by hand later has its text of then in the item, too."""
        settings.SEQUENCES = {"atomic": {**SEQUENCES["atomic"], "GIVEN": True}}
        in_row("atomic", scope, *two_lines(scope, maximum=1))
        assert [get_next_value("atomic", scope=scope) for _ in range(2)] == [1, 10]
        item = {"label": TEXT, "file": value_text("{text}.pdf")}
        for value, text in ((1, f"{scope}-1"), (10, f"{scope}/10")):
            put_at("atomic", value, item, scope=scope, **WHO)
            found = get_item("atomic", value, scope=scope)
            assert found
            assert (found.text, found.item) == (text, {"label": text, "file": f"{text}.pdf"})

    def test_a_gap_as_csv(self, scope: str) -> None:
        """Its text is by the line of the scope."""
        series.create("transactional", scope, Line(format=f"{scope}-{{value}}"), **WHO)
        put("transactional", scope)
        advance("transactional", to=3, scope=scope, **WHO)
        printed = written("sequences", "audit", "transactional", "--scope", scope, "--format", "csv")
        assert f",gap,2,3,{scope}-2," in printed

    @pytest.mark.parametrize("sequence", RESERVING)
    def test_reserved_values(self, sequence: str, scope: str) -> None:
        """Values without items, too."""
        in_row(sequence, scope, *two_lines(scope, maximum=2))
        assert [get_next_value(sequence, scope=scope) for _ in range(3)] == [1, 2, 10]
        assert list(get_next_values(2, sequence, scope=scope)) == [11, 12]

    @pytest.mark.parametrize("sequence", EVERY)
    def test_many_at_once(self, sequence: str, scope: str) -> None:
        """Of many items those that no longer fit get the numbers of the next line."""
        in_row(sequence, scope, *two_lines(scope, maximum=3))
        made = put_next_many(sequence, [{"n": n} for n in range(5)], scope=scope)
        assert [one.value for one in made] == [1, 2, 3, 10, 11]
        each = put_next_each(sequence, [{"n": n} for n in range(2)], scope=scope)
        assert [one.value for one in each if not isinstance(one, Exception)] == [12, 13]

    @pytest.mark.parametrize("sequence", EVERY)
    def test_a_next_line_that_has_ended(self, sequence: str, scope: str) -> None:
        """Of several items those that are stored have their numbers, though the others find no line any more."""
        ended = Line(format=f"{scope}/{{value}}", start=10, valid_to=TODAY - timedelta(days=1))
        in_row(sequence, scope, Line(format=f"{scope}-{{value}}", maximum=2), ended)
        each = put_next_each(sequence, [{"n": n} for n in range(3)], scope=scope)
        assert [getattr(one, "value", type(one)) for one in each] == [1, 2, SequenceExhausted]
        with pytest.raises(SequenceExhausted):
            put(sequence, scope)

    def test_many_together(self, scope: str) -> None:
        """Items that are together all get the numbers of the next line, if they no longer fit."""
        in_row("transactional", scope, *two_lines(scope, maximum=3))
        put("transactional", scope)
        together = put_next_together("transactional", [{"n": n} for n in range(3)], scope=scope)
        assert [one.value for one in together] == [10, 11, 12]

    @pytest.mark.parametrize("sequence", RESERVING)
    def test_more_than_any_line_has(self, sequence: str, scope: str) -> None:
        """A call that no line has numbers enough for costs none: the first line goes on."""
        first, _ = two_lines(scope, maximum=300)
        in_row(sequence, scope, first, Line(format=f"{scope}/{{value}}", start=1000, maximum=1099))
        with pytest.raises(SequenceExhausted):
            get_next_values(301, sequence, scope=scope)
        assert get_next_value(sequence, scope=scope) == 1

    def test_more_together_than_any_line_has(self, scope: str) -> None:
        """The same holds for items that are together."""
        first, _ = two_lines(scope, maximum=3)
        in_row("transactional", scope, first, Line(format=f"{scope}/{{value}}", start=10, maximum=12))
        put("transactional", scope)
        for count in (4, 20):
            with pytest.raises(SequenceExhausted):
                put_next_together("transactional", [{"n": n} for n in range(count)], scope=scope)
        assert put("transactional", scope) == f"{scope}-2"

    def test_one_watch_for_all_scopes(self, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A process with blocks in many scopes has one thread for changes, and as many requests as for one scope."""
        begun: list[object] = []
        start: Any = SimpleNamespace(start_new_thread=lambda *given: begun.append(given))
        monkeypatch.setattr(watch, "_thread", start)
        scopes = [f"{scope}-{n}" for n in range(4)]
        for one in scopes[1:]:
            series.create("block", one, Line(format=f"{one}/{{value}}"), **WHO)
        strategies.reset()
        assert [get_next_value("block", scope=one) for one in scopes] == [1] * 4
        assert len(begun) == 1
        allocator = cast("BlockAllocator", strategies["block"])
        allocator._watch.look()  # it finds how the lines were made
        first = [get_next_value("block", scope=one) for one in scopes]
        with elsewhere():
            freeze("block", scope=scopes[1], **WHO)
        with tapped() as wire:
            allocator._watch.look()
        assert wire.operations == ["Query", "BatchGetItem"]
        with pytest.raises(SequenceFrozen):
            get_next_value("block", scope=scopes[1])
        assert get_next_value("block", scope=scopes[2]) == first[2] + 1
        for one in scopes:
            assert allocator._watch.runs
            strategies.of("block", one).changed(one, 1000)
        assert not allocator._watch.runs

    def test_a_fresh_process_reads_the_last_line(self, scope: str) -> None:
        """It reads, voids and looks ahead where the numbers are by now."""
        in_row("atomic", scope, *two_lines(scope, maximum=2))
        for _ in range(4):
            put("atomic", scope)
        with elsewhere():
            assert get_last_value("atomic", scope=scope) == 11
            assert preview(1, "atomic", scope=scope) == [f"{scope}/12"]
            found = get_item("atomic", 11, scope=scope)
            assert found
            assert found.value == 11
            assert void("atomic", 10, scope=scope, **WHO).before == 10
            assert find(f"{scope}-2", "atomic", scope=scope)

    def test_on_a_date(self, scope: str) -> None:
        """A line with a date is for documents from that date on; earlier ones go on by the line before it."""
        begin = TODAY + timedelta(days=10)
        in_row(
            "transactional",
            scope,
            Line(format=f"{scope}-{{value}}", start=5000),
            Line(format=f"{scope}/{{value}}", start=8000, valid_from=begin),
        )
        days = (TODAY, begin - timedelta(days=1), begin)
        texts = [put("transactional", scope, date=day) for day in days]
        assert texts == [f"{scope}-5000", f"{scope}-5001", f"{scope}/8000"]
        assert put("transactional", scope) == f"{scope}-8001"

    @pytest.mark.parametrize(("sequence", "form"), [("invoices", "{period}/{value}"), ("transactional", "{value}")])
    def test_an_item_of_a_later_line(self, sequence: str, form: str, scope: str) -> None:
        """It is read by its number and by its text, whatever day one names in its period."""
        begin = date((TODAY + timedelta(days=1)).year, 12, 31)
        days = (begin - timedelta(days=1), begin)
        first = Line(format=f"{scope}-{form}", start=5000, maximum=5999)
        in_row(sequence, scope, first, Line(format=f"{scope}/{form}", start=8000, valid_from=begin))
        texts = [put(sequence, scope, date=day) for day in days]
        for day in days:
            read = [get_item(sequence, value, scope=scope, date=day) for value in (5000, 8000)]
            assert [item and item.text for item in read] == texts
            assert [find(text, sequence, scope=scope, date=day) for text in texts] == read
            with pytest.raises(ValueError, match="above MAXIMUM"):
                get_item(sequence, 10**38, scope=scope, date=day)

    def test_the_last_day(self, scope: str) -> None:
        """A document after the last day of the last line is refused, with both dates."""
        line = Line(format=f"{scope}-{{value}}", valid_to=TODAY)
        series.create("transactional", scope, line, **WHO)
        assert put("transactional", scope) == f"{scope}-1"
        with pytest.raises(
            SequenceExhausted, match=f"valid until {TODAY}, and the date is {TODAY + timedelta(days=1)}"
        ):
            put("transactional", scope, date=TODAY + timedelta(days=1))

    def test_the_end(self, scope: str) -> None:
        """Without another line a used-up range is the end, as MAXIMUM is."""
        series.create("transactional", scope, Line(format=f"{scope}-{{value}}", maximum=1), **WHO)
        put("transactional", scope)
        with pytest.raises(SequenceExhausted, match=r"maximum 1: add a line, or raise the maximum of this one\.$"):
            put("transactional", scope)
        series.add_line("transactional", scope, Line(format=f"{scope}-{{value}}", start=5), **WHO)
        assert put("transactional", scope) == f"{scope}-5"

    def test_a_range_that_is_made_longer(self, scope: str) -> None:
        """A process that has seen a range used up goes on in it, where it was made longer before the next one began."""
        line = Line(format=f"{scope}-{{value}}", maximum=1)
        series.create("transactional", scope, line, **WHO)
        put("transactional", scope)
        with pytest.raises(SequenceExhausted):
            put("transactional", scope)
        series.add_line("transactional", scope, Line(format=f"{scope}/{{value}}", start=10), **WHO)
        assert preview(1, "transactional", scope=scope) == [f"{scope}/10"]
        with elsewhere():
            series.change_line("transactional", scope, dataclasses.replace(line, maximum=3), **WHO)
        assert [put("transactional", scope) for _ in range(3)] == [f"{scope}-2", f"{scope}-3", f"{scope}/10"]

    def test_the_next_numbers_of_a_later_range(self, scope: str) -> None:
        """Where the first range is used up, they begin where the next one does, on the page of the scope, too."""
        in_row("transactional", scope, *two_lines(scope, maximum=1))
        put("transactional", scope)
        texts = [f"{scope}/10", f"{scope}/11", f"{scope}/12"]
        assert preview(3, "transactional", scope=scope) == texts
        assert look_at(strategies.of("transactional", scope), scope)["upcoming"] == texts
        check = ["seed", "transactional", "--scope", scope, "--number", "1", "--check", "--reason", "a test"]
        assert "the next number is 10" in written("sequences", *check)
        assert put("transactional", scope) == texts[0]

    def test_what_was_given_back_before_a_later_range(self, scope: str) -> None:
        """A range begins with its own first number, not with one that was given back of the range before."""
        tomorrow = TODAY + timedelta(days=1)
        in_row("block", scope, Line(maximum=999), Line(start=1000, valid_from=tomorrow))
        with elsewhere():
            get_next_value("block", scope=scope)
            cast(BlockAllocator, strategies.of("block", scope)).give_back()
        assert get_next_value("block", scope=scope, date=tomorrow) == 1000

    def test_a_list_takes_no_number(self, scope: str) -> None:
        """A list of scopes, which shows a year by its last line, leaves the numbers of today's line."""
        first, second = Line(format=f"{scope}/{{period}}/{{value}}", maximum=100), Line(start=101, maximum=200)
        year_end = Line(start=501, maximum=600, valid_from=max(TODAY, date(TODAY.year, 12, 31)))
        in_row("invoices", scope, first, second, year_end, Line(start=601))
        before = put_next("invoices", {}, scope=scope).value
        strategies["invoices"].scopes.page(None, 100, prefix=scope, period=f"{TODAY.year}")
        assert put_next("invoices", {}, scope=scope).value == before + 1

    def test_a_counter_that_was_set_back(self, scope: str) -> None:
        """It is read, and recovered, also by a process that has not counted in the scope."""
        in_row("transactional", scope, *two_lines(scope, maximum=9))
        for _ in range(3):
            put("transactional", scope)
        set_counter("transactional", scope, last_value=1)
        with elsewhere():
            (change,) = recover("transactional", scope=scope, past=3, margin=0, dry_run=True, **WHO)
            assert change.after == 3
            (found,) = (one for one in diagnose(most_scopes=1000).findings if repr(scope) in one.about)
            assert found.found == "it stands at 1, but 3 was handed out"
            recover("transactional", scope=scope, past=3, margin=0, **WHO)
            assert put("transactional", scope) == f"{scope}-4"

    @pytest.mark.parametrize(("used", "texts"), [(9, ["-10", "-11", "-12"]), (8, ["/9", "-10", "-11"])])
    def test_a_preview_past_a_line_that_is_used_up(self, scope: str, used: int, texts: list[str]) -> None:
        """It goes on with the line that follows, and ends where the last one does."""
        series.create("transactional", scope, Line(format=f"{scope}/{{value}}", maximum=9), **WHO)
        for _ in range(used):
            put("transactional", scope)
        line = Line(format=f"{scope}-{{value}}", start=10, maximum=12)
        assert series.preview("transactional", scope, line) == [f"{scope}{text}" for text in texts]
        assert series.preview("transactional", scope, line, count=9)[-1] == f"{scope}-12"
        series.add_line("transactional", scope, line, **WHO)
        assert [put("transactional", scope) for _ in texts] == [f"{scope}{text}" for text in texts]

    def test_a_period_of_before_the_lines(self, scope: str) -> None:
        """Counters of another kind of period are listed as before, and their numbers are found."""
        put("invoices", scope, date=date(2020, 1, 1))
        series.create("invoices", scope, Line(format=f"{scope}/{{period}}/{{value}}", period="month"), **WHO)
        assert "2020" in [
            one.period for one in strategies["invoices"].scopes.page(None, 100, prefix=scope, period="2020")[0]
        ]
        found = get_item("invoices", 1, scope=scope, period="2020")
        assert found
        assert found.text == f"INV-{scope}-2020-1"

    def test_a_scope_that_once_had_no_periods(self, scope: str) -> None:
        """What it counted then is found, audited, and moved with all scopes, by the line of that time."""
        yesterday = TODAY - timedelta(days=1)
        later = Line(format=f"{scope}/{{period}}/{{value}}", start=50, valid_from=TODAY)
        in_row("invoices", scope, Line(format=f"{scope}-{{value}}", period="never"), later)
        texts = [put("invoices", scope, date=day) for day in (yesterday, yesterday, TODAY)]
        for text, period in zip(texts, ("", "", str(TODAY.year)), strict=True):
            for named in (scope, None):
                found = find(text, "invoices", scope=named)
                assert found
                assert (found.text, found.period) == (text, period)
        assert audit(strategies.by_lines(strategies["invoices"], scope), scope).unexplained == 0
        moved = recover("invoices", scope=EveryScope(scope), margin=100, **WHO)
        assert [(one.period, one.before, one.after) for one in moved] == [(str(TODAY.year), 50, 150), ("", 2, 102)]
        assert put("invoices", scope, date=yesterday) == f"{scope}-103"

    def test_a_scope_that_will_have_no_periods(self, scope: str) -> None:
        """A document that is dated ahead is found by the line that is to come."""
        tomorrow = TODAY + timedelta(days=1)
        later = Line(format=f"{scope}-{{value}}", period="never", valid_from=tomorrow)
        in_row("invoices", scope, Line(format=f"{scope}/{{period}}/{{value}}", start=50), later)
        text = put("invoices", scope, date=tomorrow)
        found = find(text, "invoices")
        assert found
        assert (found.text, found.value, found.period) == (f"{scope}-1", 1, "")

    def test_the_next_number_without_periods(self, scope: str) -> None:
        """A command tells it by the line of that time."""
        yesterday, later = TODAY - timedelta(days=1), Line(start=50, step=10, valid_from=TODAY)
        in_row("invoices", scope, Line(format=f"{scope}-{{value}}", period="never"), later)
        put("invoices", scope, date=yesterday)
        moved = recover("invoices", scope=EveryScope(scope), margin=5, **WHO)
        assert [_following(change) for change in moved] == ["the next number is 7"]

    def test_a_period_of_lines_is_changed(self, scope: str) -> None:
        """Its history is read, and its scopes are frozen, thawed, recovered and audited, as those of other periods."""
        series.create("invoices", scope, Line(format=f"{scope}/{{period}}/{{value}}", period="month"), **WHO)
        put("invoices", scope, date=date(2026, 1, 5))
        place: dict[str, Any] = {"scope": EveryScope(scope), "period": "2026-01"}
        assert [one.scope for one in freeze("invoices", **place, **WHO)] == [scope]
        assert [one.scope for one in thaw("invoices", **place, **WHO)] == [scope]
        assert [one.scope for one in recover("invoices", **place, margin=0, **WHO)] == [scope]
        assert [one.kind for one in history("invoices", **place)[0]] == ["thaw", "freeze"]
        assert f" {scope} 2026-01" in written(
            "sequences", "audit", "invoices", "--period", "2026-01", "--prefix", scope
        )
        for change in (freeze, thaw, recover):
            with pytest.raises(InvalidPeriod):
                change("invoices", scope=EVERY_SCOPE, period="decade", **WHO)
        with pytest.raises(InvalidPeriod):
            history("invoices", period="decade")

    @pytest.mark.parametrize("more", [[], [Line(format="{scope}/{period}/{value}", valid_from=TODAY)]], ids=len)
    def test_the_audit_of_a_line_that_has_ended(self, scope: str, more: list[Line]) -> None:
        """What it gave is audited by its rules, also after it, and beside what another line gives by years."""
        yesterday = TODAY - timedelta(days=1)
        ended = Line(format=f"{scope}-{{value}}", start=5, period="never", valid_to=None if more else yesterday)
        in_row("invoices", scope, ended, *more)
        put("invoices", scope, date=yesterday)
        if more:
            put("invoices", scope)
        assert strategies.by_lines(strategies["invoices"], scope).config.line == 0
        printed = written("sequences", "audit", "invoices", "--scope", scope).splitlines()
        of_period = [f"invoices {scope} {TODAY.year} (TransactionalCounter): last value 1, 1 stored"] if more else []
        wanted = [*of_period, f"invoices {scope} (TransactionalCounter): last value 5, 1 stored"]
        assert [line.split(", 0 missing")[0] for line in printed[:-1]] == wanted

    def test_scopes_are_searched_in_one_period(self) -> None:
        """As in a sequence without lines."""
        with pytest.raises(OperationNotSupported, match="searched in one period: name it"):
            strategies["invoices"].scopes.page(None, 100, prefix="A")

    def test_each_year_begins_anew(self, scope: str) -> None:
        """With a period, each one begins with the first line again."""
        in_row(
            "invoices",
            scope,
            Line(format=f"{scope}-{{period}}-{{value}}", maximum=1),
            Line(format=f"{scope}/{{period}}/{{value}}", start=10),
        )
        days = [date(year, 5, 1) for year in (2025, 2025, 2026, 2026, 2025)]
        assert [put("invoices", scope, date=day) for day in days] == [
            f"{scope}-2025-1",
            f"{scope}/2025/10",
            f"{scope}-2026-1",
            f"{scope}/2026/10",
            f"{scope}/2025/11",
        ]

    def test_a_warning(self, scope: str, caplog: pytest.LogCaptureFixture) -> None:
        """From its number `warn_at` on a line is told to be nearly used up."""
        series.create("transactional", scope, Line(format=f"{scope}-{{value}}", maximum=100, warn_at=2), **WHO)
        put("transactional", scope)
        assert "are used" not in caplog.text
        put("transactional", scope)
        assert "2 % of the values up to 100 are used" in caplog.text

    def test_a_changed_format(self, scope: str) -> None:
        """What was issued is found by its former text, and a repeat gets it."""
        series.create("transactional", scope, Line(format=f"{scope}-{{value}}"), **WHO)
        before = put("transactional", scope, "one")
        series.change_line("transactional", scope, Line(format=f"{scope}/{{value:04d}}"), **WHO)
        assert put("transactional", scope, "one") == before == f"{scope}-1"
        assert put("transactional", scope) == f"{scope}/0002"
        found = find(before, "transactional", scope=scope)
        assert found
        assert found.value == 1

    def test_the_first_line_of_a_sequence_without_format(self, scope: str) -> None:
        """A repeat gets the number alone, as before there was a line."""
        assert put("numbers", scope, "one") == "1"
        series.create("numbers", scope, Line(format=f"{scope}-{{value}}"), **WHO)
        assert put("numbers", scope, "one") == "1"
        assert put("numbers", scope) == f"{scope}-2"

    def test_another_period(self, scope: str) -> None:
        """After a line without periods a repeat gets its text with the period, and no later number has that text."""
        before = put("invoices", scope, "one", date=TODAY)
        line = Line(format=f"{scope}/{{value}}", period="never", valid_from=TODAY + timedelta(days=1))
        series.add_line("invoices", scope, line, **WHO)
        tomorrow = TODAY + timedelta(days=1)
        assert put("invoices", scope, "one", date=tomorrow) == before == f"INV-{scope}-{TODAY.year}-1"
        assert put("invoices", scope, date=tomorrow) == f"{scope}/1"


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that refuse a call are read again each time, not at most once a second."""
    monkeypatch.setattr(line_rows, "FOLLOW_SECONDS", -1.0)


class TestProcesses:
    @pytest.mark.parametrize("sequence", [name for name in EVERY if name != "block"])
    def test_others_follow_at_once(self, sequence: str, scope: str) -> None:
        """The next number of every other process is by the new rules, and no value is lost."""
        assert put(sequence, scope).endswith("-1")
        with elsewhere():
            series.create(sequence, scope, Line(format=f"{scope}/{{value}}"), **WHO)
        assert put(sequence, scope) == f"{scope}/2"
        with elsewhere():
            series.change_line(sequence, scope, Line(format=f"{scope}_{{value}}", valid_from=TODAY), place=1, **WHO)
        assert [put(sequence, scope), put(sequence, scope)] == [f"{scope}_3", f"{scope}_4"]

    def test_blocks_follow_with_the_next_look(self, scope: str) -> None:
        """A process that holds a block follows with its next look at the history, and what it held is a gap."""
        assert put("block", scope).endswith("-1")
        with elsewhere():
            series.create("block", scope, Line(format=f"{scope}/{{value}}"), **WHO)
        strategies["block"]._watch.look()  # type: ignore[attr-defined]
        assert put("block", scope) == f"{scope}/101"

    @pytest.mark.parametrize("sequence", [name for name in EVERY if name != "block"])
    def test_a_write_that_was_prepared_before(self, sequence: str, scope: str, wire: Wire) -> None:
        """A process that stops between its look and its write stores nothing by former rules."""
        series.create(sequence, scope, Line(format=f"{scope}/{{value}}"), **WHO)
        put(sequence, scope)
        operation = {"transactional": "TransactWriteItems", "beside": "TransactWriteItems", "by-put": "PutItem"}

        def change() -> None:
            with elsewhere():
                series.change_line(sequence, scope, Line(format=f"{scope}_{{value}}"), **WHO)

        wire.before(operation.get(sequence, "UpdateItem"), change)
        assert put(sequence, scope) == f"{scope}_2"

    def test_a_period_that_begins_after_the_change(self, scope: str) -> None:
        """A process that read former rules does not begin the next period by them."""
        next_year = date(TODAY.year + 1, 2, 1)
        put("invoices", scope)
        with elsewhere():
            series.create("invoices", scope, Line(format=f"{scope}/{{period}}/{{value}}"), **WHO)
        assert put("invoices", scope, date=next_year) == f"{scope}/{TODAY.year + 1}/1"

    @pytest.mark.parametrize("sequence", EVERY)
    @pytest.mark.usefixtures("at_once")
    def test_a_line_after_one_that_is_used_up(self, sequence: str, scope: str) -> None:
        """A process whose last line is used up goes on by the one that another process has added since."""
        in_row(sequence, scope, Line(format=f"{scope}-{{value}}", maximum=1))
        assert put(sequence, scope) == f"{scope}-1"
        with pytest.raises(SequenceExhausted):
            put(sequence, scope)
        with elsewhere():
            series.add_line(sequence, scope, Line(format=f"{scope}/{{value}}", start=10), **WHO)
        assert put(sequence, scope) == f"{scope}/10"

    @pytest.mark.usefixtures("at_once")
    def test_values_after_a_line_that_is_used_up(self, scope: str) -> None:
        """The same for values without items."""
        series.create("atomic", scope, Line(format=f"{scope}-{{value}}", maximum=1), **WHO)
        assert get_next_value("atomic", scope=scope) == 1
        with elsewhere():
            series.add_line("atomic", scope, Line(format=f"{scope}/{{value}}", start=10), **WHO)
        assert get_next_value("atomic", scope=scope) == 10

    @pytest.mark.parametrize("way", ["by number", "by text", "after another"])
    @pytest.mark.usefixtures("at_once")
    def test_an_item_by_a_line_of_another_process(self, way: str, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A process that does not know the line that gave a number reads its item, and those after it."""
        monkeypatch.setattr(scope_lines, "READ_ALL_SECONDS", -1.0)
        in_row("transactional", scope, Line(format=f"{scope}-{{value}}", maximum=1))
        put("transactional", scope)
        with elsewhere():
            series.add_line("transactional", scope, Line(format=f"{scope}/{{value}}", start=10), **WHO)
            texts = [put("transactional", scope) for _ in range(2)]
        ways: dict[str, Callable[[], StoredItem | None]] = {
            "by number": lambda: get_item("transactional", 11, scope=scope),
            "by text": lambda: find(f"{scope}/11", "transactional"),
            "after another": lambda: next(items("transactional", scope=scope, after=10)),
        }
        found = ways[way]()
        assert found
        assert (found.value, found.text) == (11, texts[1]) == (11, f"{scope}/11")

    @pytest.mark.usefixtures("at_once")
    def test_a_line_after_the_last_day(self, scope: str) -> None:
        """A process whose last line has ended goes on by the one that another process has added since."""
        later = TODAY + timedelta(days=2)
        series.create("invoices", scope, Line(format=f"{scope}-{{period}}-{{value}}", valid_to=TODAY), **WHO)
        with pytest.raises(SequenceExhausted, match="valid until"):
            put("invoices", scope, date=later)
        with elsewhere():
            line = Line(format=f"{scope}/{{period}}/{{value}}", valid_from=TODAY + timedelta(days=1))
            series.add_line("invoices", scope, line, **WHO)
        assert put("invoices", scope, date=later) == f"{scope}/{later.year}/1"

    @pytest.mark.usefixtures("at_once")
    def test_a_scope_that_the_settings_do_not_take(self, scope: str) -> None:
        """A process that has refused a scope takes it as soon as another process has given it lines."""
        with pytest.raises(InvalidScope, match="has no"):
            put("single", scope)
        with elsewhere():
            series.create("single", scope, Line(format=f"{scope}-{{value}}"), **WHO)
        assert put("single", scope) == f"{scope}-1"

    def test_a_refused_scope_is_not_read_each_time(
        self, scope: str, wire: Wire, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Lines that refuse a call are read again at most once in FOLLOW_SECONDS."""
        monkeypatch.setattr(line_rows, "FOLLOW_SECONDS", 60.0)  # a slow machine takes a second for three calls
        for _ in range(3):
            with pytest.raises(InvalidScope):
                put("single", scope)
        assert wire.operations == ["GetItem"]

    def test_two_changes_at_once(self, scope: str, wire: Wire) -> None:
        """Of two scopes that get one FORMAT at the same moment, one is refused."""

        def another() -> None:
            with elsewhere():
                series.create("atomic", f"{scope}b", Line(format=f"{scope}-{{value}}"), **WHO)

        wire.before("TransactWriteItems", another)
        with pytest.raises(InvalidChange, match=f"one of the scope '{scope}b'"):
            series.create("atomic", scope, Line(format=f"{scope}-{{value}}"), **WHO)

    def test_a_frozen_scope(self, scope: str) -> None:
        """A change of its rules leaves a frozen scope frozen."""
        from sequences.changes import freeze, thaw

        put("transactional", scope)
        freeze("transactional", scope=scope, **WHO)
        series.create("transactional", scope, Line(format=f"{scope}/{{value}}"), **WHO)
        with pytest.raises(SequenceFrozen):
            put("transactional", scope)
        thaw("transactional", scope=scope, **WHO)
        assert put("transactional", scope) == f"{scope}/2"


class TestRestored:
    def test_lines_that_are_older_than_the_counter(self, scope: str) -> None:
        """Where the table of lines was restored, a number is refused, until somebody stores the lines again."""
        series.create("transactional", scope, Line(format=f"{scope}/{{value}}"), **WHO)
        book = strategies.lines("transactional")
        assert book
        table = book.rows.schema.table
        keys = [{"sequence": {"S": "#series#transactional"}, "scope": {"S": name}} for name in (scope, "##")]
        rows = [dynamodb.call("get_item", {"TableName": table, "Key": key})["Item"] for key in keys]
        for sign in "+_":
            series.change_line("transactional", scope, Line(format=f"{scope}{sign}{{value}}"), **WHO)
        assert put("transactional", scope) == f"{scope}_1"
        for row in rows:
            dynamodb.call("put_item", {"TableName": table, "Item": row})
        with elsewhere(), pytest.raises(RulesChanged, match="is older than the counter"):
            put("transactional", scope)
        with elsewhere():
            series.change_line("transactional", scope, Line(format=f"{scope}.{{value}}"), **WHO)
        assert put("transactional", scope) == f"{scope}.2"  # although this process knows the later lines of before


class TestEventLoops:
    def test_every_twin(self, scope: str) -> None:
        """Awaited calls go by the rules of the scope, too, also when a line is used up."""

        async def calls() -> tuple[Any, ...]:
            made = await asyncio.gather(*(aput_next("atomic", {"n": n}, scope=scope) for n in range(3)))
            return (
                sorted(one.text for one in made),
                await aget_next_value("atomic", scope=scope),
                await aget_last_value("atomic", scope=scope),
                await afind(f"{scope}/10", "atomic", scope=scope),
                await aget_item("atomic", 2, scope=scope),
                [item.value async for item in aitems("atomic", scope=scope)],
            )

        in_row("atomic", scope, *two_lines(scope, maximum=2))
        texts, value, last, found, second, listed = asyncio.run(calls())
        assert texts == [f"{scope}-1", f"{scope}-2", f"{scope}/10"]
        assert (value, last, found.value, second.value, listed) == (11, 11, 10, 2, [1, 2, 10])


class TestCost:
    @pytest.mark.parametrize("sequence", [name for name in EVERY if name not in ("beside", "block")])
    def test_a_number_costs_the_same(self, sequence: str, scope: str, wire: Wire) -> None:
        """After the first one in a process, a number takes the requests and units that it takes without lines."""
        series.create(sequence, scope, Line(format=f"{scope}/{{value}}"), **WHO)
        costs = []
        for each in (f"{scope}x", scope):
            put(sequence, each)
            wire.clear()
            made = [put_next(sequence, {"n": n}, scope=each) for n in range(3)]
            costs.append((wire.operations, [(one.write_units, one.read_units) for one in made]))
        assert costs[0] == costs[1]

    def test_texts_of_any_scope(self, scope: str, wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
        """A process keeps the lines of all scopes for texts: what none reads costs one query in 30 seconds at most."""

        def cost(text: str, *, is_read: bool) -> int:
            wire.clear()
            with nullcontext() if is_read else pytest.raises(InvalidText):
                assert parse(text, "transactional").scope == scope
            return sum("#series#transactional" in str(sent.body) for sent in wire.sent)

        monkeypatch.setattr(scope_lines, "READ_ALL_SECONDS", 1e9)
        with pytest.raises(InvalidText):
            parse("nothing", "transactional")
        assert cost("nothing", is_read=False) == 0
        with elsewhere():
            series.create("transactional", scope, Line(format=f"{scope}/{{value}}"), **WHO)
        assert cost(f"{scope}/1", is_read=False) == 0
        monkeypatch.setattr(scope_lines, "READ_ALL_SECONDS", -1.0)
        assert [cost(f"{scope}/1", is_read=True) for _ in range(2)] == [1, 0]
        assert cost("nothing", is_read=False) == 1

    def test_texts_of_a_line_of_this_process(self, scope: str) -> None:
        """The process that makes a line reads its texts at once, whatever it has kept."""
        with pytest.raises(InvalidText):
            parse(f"{scope}/1", "transactional")
        series.create("transactional", scope, Line(format=f"{scope}/{{value}}"), **WHO)
        assert parse(f"{scope}/1", "transactional").scope == scope

    def test_texts_that_name_their_scope(self, scope: str) -> None:
        """A text that names its scope is read as one of that scope alone, though others have lines of this form."""
        mine, other = f"{scope}a", f"{scope}b"
        for each in (mine, other):
            series.create("transactional", each, Line(format="Q{scope}/{value}"), **WHO)
        assert parse(f"Q{other}/1", "transactional").scope == other
        assert parse(f"Q{other}/1", "transactional", scope=other).scope == other
        with pytest.raises(InvalidText):
            parse(f"Q{other}/1", "transactional", scope=mine)

    @pytest.mark.parametrize(
        "typed",
        [
            "straße-é/{scope}/7",
            "STRAßE-É/{scope}/7",
            " Straße \u2013 e\u0301 /{scope}/ 7",
            "\uff33tra ße-é/{scope}\uff0f7",
        ],
    )
    def test_texts_as_people_type_them(self, typed: str, scope: str) -> None:
        """In whatever spelling a line reads a text, it is found without the scope, too."""
        series.create("transactional", scope, Line(format=f"Straße-é/{scope}/{{value}}"), **WHO)
        text = typed.format(scope=scope)
        assert parse(text, "transactional") == parse(text, "transactional", scope=scope)

    def test_no_line_of_another_beginning_is_tried(self, scope: str) -> None:
        """However many scopes have lines, a text is read by those alone that begin as it does."""
        for each in range(3):
            series.create("transactional", f"{scope}-{each}", Line(format=f"{scope}{each}/{{value}}"), **WHO)
        with elsewhere():
            assert parse(f"{scope}1/5", "transactional").scope == f"{scope}-1"
            book = strategies.lines("transactional")
            assert book
            assert book._made.cache_info().misses == 1

    def test_texts_of_very_many_scopes(self, scope: str, wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
        """More lines than a process keeps are read for each text, and none of them is missed."""
        monkeypatch.setattr(scope_lines, "SCOPES_REMEMBERED", 0)
        series.create("transactional", scope, Line(format=f"{scope}/{{value}}"), **WHO)
        for _ in range(2):
            wire.clear()
            assert parse(f"{scope}/1", "transactional").scope == scope
            assert "#series#transactional" in str([sent.body for sent in wire.sent if sent.operation == "Query"])

    def test_a_sequence_without_series(self, scope: str, wire: Wire) -> None:
        """Its writes say nothing of lines."""
        put("plain", scope)
        wire.clear()
        put("plain", scope)
        assert "lines" not in str([sent.body for sent in wire.sent])


def numbered(prefix: str, scope: str, count: int) -> list[tuple[str, int]]:
    """Store items in a process of its own; their texts and values."""
    from django.conf import settings as present

    present.SEQUENCES, present.TABLE_PREFIX = SEQUENCES, prefix
    strategies.reset()
    made = [stored(scope, f"{os.getpid()}-{n}") for n in range(count)]
    return [(one.text, one.value) for one in made]


def stored(scope: str, token: str) -> Allocation:
    """Store an item, and repeat that until it is answered."""
    while True:
        with suppress(GaveUp):
            return put_next("transactional", {"n": 1}, scope=scope, idempotency_token=token)


class TestRaces:
    def test_changes_while_four_processes_write(
        self, spawned: Processes, scope: str, proxy: Proxy, configured: str
    ) -> None:
        """Through lost and late answers: no value twice, no gap that is not explained, and every text is its own."""
        proxy.follow(Rule(fault="lose-close", probability=0.05), Rule(fault="late", probability=0.05, seconds=0.05))
        line = Line(format=f"{scope}-0-{{value}}")
        series.create("transactional", scope, line, **WHO)
        futures = [
            spawned._pool.submit(numbered_by, proxy.endpoint, configured, scope, 40) for _ in range(spawned.count)
        ]
        for round_ in range(1, 8):
            series.change_line("transactional", scope, Line(format=f"{scope}-{round_}-{{value}}"), **WHO)
        found = [one for future in futures for one in future.result(timeout=90)]
        values = sorted(value for _, value in found)
        assert values == [*range(1, len(values) + 1)]
        assert len({text for text, _ in found}) == len(found) == 40 * spawned.count
        report = audit(strategies.of("transactional", scope), scope)
        assert (report.unexplained, report.gaps.total) == (0, 0)
        for text, value in found:
            assert parse(text, "transactional", scope=scope).value == value


def numbered_by(endpoint: str, prefix: str, scope: str, count: int) -> list[tuple[str, int]]:
    """Store items through a proxy, in a process of its own."""
    os.environ["AWS_ENDPOINT_URL_DYNAMODB"] = endpoint
    return numbered(prefix, scope, count)


def test_the_entry_is_known() -> None:
    """SERIES is a key of an entry, and its table is made with the others."""
    config = parse_config("atomic", entries()["atomic"])
    assert config.series == "series"
    assert dynamodb.table_keys(dynamodb.table_name("series")) == {"sequence": "S", "scope": "S"}
