"""What was issued stays as it was issued: another FORMAT changes no text that stands on a document."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from sequences import changes, find, format_value, get_item, parse, put_next, put_next_many
from sequences.exceptions import InvalidScope, InvalidSequence, InvalidText
from sequences.formats import Format
from sequences.ops.audit.listing import export_numbers
from sequences.ops.checks import check_apart
from sequences.registry import parse_config, strategies
from sequences.rows.naming import Naming
from sequences.types import Dated
from tests.sequences.support import written

FORMER, PRESENT = "INV-{period}-{value:06d}-{check:damm}", "R{period}-{value:05d}"
GAPLESS = "sequences.strategies.TransactionalCounter"
DAY = date(2026, 3, 1)

Release = Callable[..., None]


@pytest.fixture
def release(tables: str, settings: Settings) -> Release:
    """A function that brings other settings of "invoices" into use, as a release of the application does."""

    def release(**keys: Any) -> None:
        options = {"text_name": "text", **keys.pop("OPTIONS", {})}
        entry = {"STRATEGY": GAPLESS, "PERIOD": "year", "OPTIONS": options, **keys}
        settings.SEQUENCES = {**settings.SEQUENCES, "invoices": entry}

    return release


@pytest.fixture
def released(release: Release) -> None:
    """Two invoices of before, of which the second is void, and one of today."""
    release(FORMAT=FORMER)
    put_next("invoices", {"total": 1}, date=DAY, idempotency_token="first")
    put_next("invoices", {"total": 2}, date=DAY)
    changes.void("invoices", 2, period="2026", by="ann", reason="Sent twice.")
    release(FORMAT=PRESENT, ALSO_READ=[FORMER])
    put_next("invoices", {"total": 3}, date=DAY)


@pytest.mark.usefixtures("released")
class TestFound:
    @pytest.mark.parametrize(
        ("typed", "number", "text"),
        [
            ("inv 2026 1 5", 1, "INV-2026-000001-5"),
            ("INV-2026-000002-8", 2, "INV-2026-000002-8"),
            ("r2026-3", 3, "R2026-00003"),
            ("R2026-00001", 1, "INV-2026-000001-5"),  # nobody has this text, and it says which number is meant
        ],
    )
    def test_by_the_text_of_its_time(self, typed: str, number: int, text: str) -> None:
        """Each is found by the text that stands on it, and shows it."""
        item = find(typed, "invoices")
        assert item is not None
        assert (item.value, item.text) == (number, text)

    def test_a_text_of_neither_form(self) -> None:
        """The error is of today's FORMAT; a wrong check digit of a former text is no other number."""
        for text in ("X-1", "INV-2026-000001-6"):
            with pytest.raises(InvalidText, match="another form than 'R"):
                parse(text, "invoices")

    def test_a_former_text_is_read(self) -> None:
        """`parse` gives it back as it was written."""
        assert parse("inv 2026 2 8", "invoices").text == "INV-2026-000002-8"


class TestTwoReadings:
    def test_the_one_that_was_stored(self, release: Release) -> None:
        """Where a text means two numbers, it is the one whose document has it."""
        release(FORMAT="{period}-{value}0")
        first = put_next("invoices", {}, date=DAY)  # 2026-10
        release(FORMAT="{period}-{value}", ALSO_READ=["{period}-{value}0"])
        put_next_many("invoices", [{}] * 9, date=DAY)
        tenth = get_item("invoices", 10, date=DAY)
        assert tenth is not None
        assert first.text == tenth.text == "2026-10"
        changes.void("invoices", 1, period="2026", by="ann", reason="Two have one text.")
        found = find("2026-20", "invoices")  # nobody has it: the twentieth of today, or the second of before
        assert found is not None
        assert found.value == 2


class TestRepeats:
    @pytest.mark.usefixtures("released")
    def test_a_repeat_has_the_first_text(self) -> None:
        """Whoever asks again gets the number as it was given."""
        again = put_next("invoices", {"total": 1}, date=DAY, idempotency_token="first")
        assert (again.value, again.text, again.replayed) == (1, "INV-2026-000001-5", True)

    def test_a_format_that_cannot_be_used_any_more(self, release: Release) -> None:
        """Where its fields are gone, the number is written by today's."""
        release(FORMAT="{period}/{value}")
        put_next("invoices", {}, date=DAY, idempotency_token="once")
        release(FORMAT="N{value}", PERIOD="never")
        changes.adopt("invoices", by="ann", reason="a test")
        again = put_next("invoices", {}, idempotency_token="once")
        assert (again.value, again.replayed) == (1, True)


@pytest.mark.usefixtures("released")
class TestListed:
    def test_the_export_has_the_texts_of_the_documents(self) -> None:
        """An auditor compares the file with paper."""
        file = b"".join(export_numbers(strategies["invoices"], Dated.of(None, "2026"))).decode("utf-8-sig")
        rows = csv.DictReader(io.StringIO(file))
        assert [(row["kind"], row["text"]) for row in rows] == [
            ("stored", "INV-2026-000001-5"), ("void", "INV-2026-000002-8"), ("stored", "R2026-00003"),
        ]  # fmt: skip

    def test_the_audit_has_them_too(self) -> None:
        """A void keeps its text in the command's list."""
        rows = csv.DictReader(io.StringIO(written("sequences", "audit", "invoices", "--format", "csv")))
        assert [(row["kind"], row["text"]) for row in rows] == [("void", "INV-2026-000002-8")]


class TestSettings:
    @pytest.mark.parametrize("wrong", ["INV-{value}", ["INV-{value"], ["no value"], [7]])
    def test_a_wrong_one_is_named(self, wrong: Any) -> None:
        """A text alone, and what cannot be a FORMAT, are refused with the key."""
        entry = {"STRATEGY": GAPLESS, "ALSO_READ": wrong}
        with pytest.raises(InvalidSequence, match=r"SEQUENCES\['orders'\]\['ALSO_READ'\]"):
            Naming(parse_config("orders", entry), 0, lambda: 0.0)

    def test_two_sequences_with_one_text(self, release: Release, settings: Settings) -> None:
        """A text that could stand on a document of either is refused; of numbers without FORMAT nobody asks that."""
        notes: dict[str, Any] = {"STRATEGY": GAPLESS, "PERIOD": "year", "FORMAT": "inv-{period}-{value:03d}"}
        release(FORMAT="INV-{period}-{value:03d}")
        settings.SEQUENCES = {**settings.SEQUENCES, "credits": notes}
        (error,) = check_apart()
        assert error.id == "sequences.E010"
        assert "'invoices' and 'credits'" in error.msg
        settings.SEQUENCES = {**settings.SEQUENCES, "credits": {**notes, "FORMAT": "CN-{period}-{value:03d}"}}
        assert list(check_apart()) == []

    def test_two_sequences_with_ranges_apart(self, release: Release, settings: Settings) -> None:
        """What MAXIMUM keeps apart is no text of both."""
        release(FORMAT="INV-{period}-{value:03d}", MAXIMUM=9999)
        later = {"STRATEGY": GAPLESS, "PERIOD": "year", "FORMAT": "INV-{period}-{value:03d}", "START": 10_000}
        settings.SEQUENCES = {**settings.SEQUENCES, "later": later}
        assert list(check_apart()) == []


class TestScopesOfBefore:
    """FORMAT has got {scope}, or has lost it."""

    def test_without_a_scope(self, release: Release) -> None:
        """What counted without a scope is found, read, changed and void; nothing new is given there."""
        release(FORMAT="INV-{value:06d}", PERIOD="never")
        put_next("invoices", {"total": 1})
        release(FORMAT="{scope}-{value:06d}", PERIOD="never", ALSO_READ=["INV-{value:06d}"])
        for item in (find("INV-000001", "invoices"), get_item("invoices", 1)):
            assert item
            assert (item.value, item.text) == (1, "INV-000001")
        assert changes.void("invoices", 1, by="ann", reason="Sent twice.").before == 1
        with pytest.raises(InvalidScope, match="give a text"):
            put_next("invoices", {"total": 2})
        with pytest.raises(InvalidScope, match="give a text"):
            format_value(2, "invoices")

    def test_with_scopes(self, release: Release) -> None:
        """What counted in scopes is found, beside what is given now."""
        release(FORMAT="{scope}-{value:06d}", PERIOD="never", OPTIONS={"text_name": None})
        put_next("invoices", {"total": 1}, scope="INV")
        release(
            FORMAT="INV-{value:06d}", PERIOD="never", ALSO_READ=["{scope}-{value:06d}"], OPTIONS={"text_name": None}
        )
        put_next("invoices", {"total": 2})
        former, present = get_item("invoices", 1, scope="INV"), get_item("invoices", 1)
        assert [one and one.text for one in (former, present)] == ["1", "INV-000001"]
        assert find("INV-000001", "invoices", scope="INV") == former


LETTERS = st.sampled_from(["INV-", "R", "2026/", "A1-", ""])
FORMATS = st.builds(
    "{}{{value:0{}d}}{}".format, LETTERS, st.integers(1, 6), st.sampled_from(["", "-X", "-{check:damm}"])
)


@given(formats=st.lists(FORMATS, min_size=1, max_size=4, unique=True), value=st.integers(1, 10**7))
def test_every_text_is_read_by_the_format_that_wrote_it(formats: list[str], value: int) -> None:
    """Whichever of the formats is in use today, what each of them wrote is among the readings."""
    for present in formats:
        entry = {"STRATEGY": GAPLESS, "FORMAT": present, "ALSO_READ": [one for one in formats if one != present]}
        naming = Naming(parse_config("any", entry), 0, lambda: 0.0)
        for former in formats:
            text = Format(template=former, maximum=10**9).text(value, None, None, "")
            assert (value, text) in [(one.value, one.text) for one in naming.readings(text)]


@pytest.mark.usefixtures("released")
def test_what_is_written_today_is_of_today() -> None:
    """`format_value` writes by FORMAT alone."""
    assert format_value(1, "invoices", period="2026") == "R2026-00001"
