"""The limits of the fields of projects and tickets."""

import pytest
from django.core.exceptions import ValidationError

from tickets import validators
from tickets.converters import ProjectKeyConverter
from tickets.exceptions import InvalidInput, ProjectNotFound
from tickets.types import Status, TicketKey


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", ""),
        ("title", "  \n "),
        ("title", "x" * 201),
        ("title", "two\nlines"),
        ("title", "bell\x07"),
        ("title", "half of a pair \ud800"),
        ("title", "separated\u2028lines"),
        ("title", None),
        ("title", 5),
        ("description", "x" * 20_001),
        ("description", "escape\x1b"),
        ("status", "void"),
        ("status", "closed"),
        ("status", ["open"]),
        ("assignee", "x" * 151),
        ("labels", "bug"),
        ("labels", None),
        ("labels", ["x" * 41]),
        ("labels", [""]),
        ("labels", ["a,b"]),
        ("labels", [str(number) for number in range(21)]),
    ],
)
def test_what_breaks_a_limit_is_refused(field: str, value: object) -> None:
    """A value beyond its limits is refused with a message."""
    with pytest.raises(ValidationError) as caught:
        validators.TICKET[field].clean(value)
    assert caught.value.messages[0].strip()


@pytest.mark.parametrize(
    ("field", "value", "cleaned"),
    [
        ("title", f"  {'x' * 200} ", "x" * 200),
        ("title", "Ünïcödé 🎫", "Ünïcödé 🎫"),
        ("description", "one\r\ntwo\n\tthree", "one\ntwo\n\tthree"),
        ("description", None, ""),
        ("description", "x" * 20_000, "x" * 20_000),
        ("status", "in_progress", Status.IN_PROGRESS),
        ("labels", [" b ", "a", "b"], ("b", "a")),
        ("labels", [str(number) for number in range(20)], tuple(str(number) for number in range(20))),
    ],
)
def test_what_keeps_to_the_limits_is_cleaned(field: str, value: object, cleaned: object) -> None:
    """A value within its limits loses the spaces around it, its carriage returns and its doubles."""
    assert validators.TICKET[field].clean(value) == cleaned


@pytest.mark.parametrize("key", ["AB", "A1", "ABCDEFGHIJ"])
def test_project_keys_are_accepted(key: str) -> None:
    """A key has 2 to 10 capital letters and digits, the first a letter."""
    assert validators.PROJECT["key"].clean(key) == key
    assert validators.project_key(key) == key


def test_a_key_is_looked_at_once() -> None:
    """A key that an address has matched, or that was checked before, is taken as it is."""
    key = ProjectKeyConverter().to_python("ABC")
    assert validators.project_key(key) is key
    checked = validators.project_key("XYZ")
    assert validators.project_key(checked) is checked


@pytest.mark.parametrize("key", ["", "A", "1A", "abc", "ABCDEFGHIJK", "A-B", "ABC\n", "ÄB", "#projects", "ABC#42"])
def test_what_is_no_project_key_is_refused(key: str) -> None:
    """No other text is a project's key."""
    with pytest.raises(ValidationError):
        validators.PROJECT["key"].clean(key)
    with pytest.raises(ProjectNotFound):
        validators.project_key(key)


def test_all_complaints_come_together() -> None:
    """Every field that is wrong, and every field that does not exist, is named at once."""
    with pytest.raises(InvalidInput) as caught:
        validators.clean({"title": "", "labels": ["fine"], "status": "lost", "titel": "x"}, validators.TICKET)
    assert set(caught.value.message_dict) == {"title", "status", "titel"}


def test_ticket_keys_are_read_as_they_are_written() -> None:
    """A key that is parsed spells itself again."""
    assert str(TicketKey.parse("ABC-42")) == "ABC-42"
    assert TicketKey.parse("ABC-42") == TicketKey(project="ABC", number=42)


@pytest.mark.parametrize(
    "text", ["ABC-0", "ABC-042", "ABC42", "abc-1", "ABC-", "-1", "ABC-1\n", f"ABC-{10**15}", "ABC-\u0661"]
)
def test_what_is_no_ticket_key_is_refused(text: str) -> None:
    """No other text is a ticket's key."""
    with pytest.raises(ValueError, match="not the key of a ticket"):
        TicketKey.parse(text)
