"""The limits of the fields of projects and tickets."""

import re
import unicodedata
from datetime import date

import jsonschema_rs
import pytest
from django.core.exceptions import ValidationError
from hypothesis import assume, given
from hypothesis import strategies as st

from tickets import characters as kinds
from tickets import validators
from tickets.api.schema import OF_TEXTS
from tickets.converters import ProjectKeyConverter
from tickets.exceptions import InvalidInput, ProjectNotFound, WrongPart
from tickets.types import Status, TicketKey
from tickets.validators import Text


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
        ("title", f"  {'x' * 197} ", "x" * 197),
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


ONE_LINERS = [validators.TICKET["title"], validators.PROJECT["name"], validators.TICKET["assignee"]]
UNSEEN = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u0301\ufe0f\u3164\u115f\uffa0\u2800\u00a0\u2003\U000e0041"
DIRECTIONS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@given(st.sampled_from(ONE_LINERS), st.text(UNSEEN, min_size=1))
def test_a_text_of_which_nothing_is_seen_is_refused(field: validators.Text, text: str) -> None:
    """A text of spaces, joiners, marks and fillers alone is not a title, a name or an assignee."""
    if text.strip():
        with pytest.raises(ValidationError, match="Nothing can be seen"):
            field.clean(text)


@given(st.text(UNSEEN), st.sampled_from("aß中م🎫"), st.text(UNSEEN))
def test_one_character_that_is_seen_is_enough(before: str, seen: str, after: str) -> None:
    """Joiners and marks may stand beside what they join and mark."""
    assert validators.TICKET["description"].clean(before + seen + after) == (before + seen + after).strip()


@given(st.sampled_from(ONE_LINERS), st.text("abc", max_size=9), st.sampled_from(DIRECTIONS), st.text("abc", max_size=9))
def test_what_turns_the_text_around_it_is_refused(
    field: validators.Text, before: str, control: str, after: str
) -> None:
    """No title, name or assignee holds a control of direction, and the message names the character."""
    with pytest.raises(ValidationError, match=f"U\\+{ord(control):04X} cannot be used"):
        field.clean(f"x{before}{control}{after}x")


@pytest.mark.parametrize("character", ["\uffff", "\ufffe", "\ufdd0"])
@pytest.mark.parametrize("field", ["title", "description", "assignee"])
def test_what_never_is_a_character_is_refused(field: str, character: str) -> None:
    """The message names it, as no font draws it."""
    with pytest.raises(ValidationError, match=f"U\\+{ord(character):04X} cannot be used"):
        validators.TICKET[field].clean(f"a{character}b")


@given(st.sampled_from(DIRECTIONS))
def test_labels_cannot_turn_either(control: str) -> None:
    """A label follows the rules of titles."""
    for label in (f"bug{control}", "\u200b"):
        with pytest.raises(ValidationError):
            validators.TICKET["labels"].clean([label])


@pytest.mark.parametrize(
    "title",
    ["👩‍👩‍👧‍👦 family", "🏳️‍🌈", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "👍🏽", "e\u0301", "می‌خواهم", "שלום \u200fC++", "क्‍ष", "🎫"],
)
def test_joined_emoji_and_other_scripts_stay(title: str) -> None:
    """Emoji joined of others, flags, skin tones, combined letters, Persian, Hebrew and Hindi are kept as they are."""
    assert validators.TICKET["title"].clean(title) == title


def test_a_description_may_turn() -> None:
    """A text of its own lines may hold controls of direction: nothing stands beside it."""
    assert validators.TICKET["description"].clean(f"a{DIRECTIONS}b") == f"a{DIRECTIONS}b"


def test_the_controls_of_direction_are_those_of_unicode() -> None:
    """Of the characters that embed, override or isolate a direction, none is forgotten."""
    turning = {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}
    characters = [*map(chr, range(0x11000))]
    found = [character for character in characters if unicodedata.bidirectional(character) in turning]
    assert found == [character for character in characters if re.match(f"[{kinds.DIRECTIONS}]", character)]


@given(
    st.sampled_from([Text(least=1, most=9), Text(most=9), Text(least=1, most=9, lines=True), Text(most=9, lines=True)]),
    st.text(f"{UNSEEN}{DIRECTIONS} \t\n\x00\x85\u2028ab,é🎫", max_size=9) | st.text(max_size=9),
)
def test_the_document_says_what_is_taken(field: Text, text: str) -> None:
    """Who knows the document knows which texts are taken; but not of all unseen characters beyond 16 bits."""
    assume(not re.search(f"[{kinds.TAGS}]", text))
    document = {"components": {"schemas": OF_TEXTS}, **field.schema}
    try:
        field.clean(text)
    except ValidationError:
        assert not jsonschema_rs.is_valid(document, text)
    else:
        assert jsonschema_rs.is_valid(document, text)


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


HINTS = [
    (validators.PROJECT["key"], "2 to 10 capital letters and digits, the first a letter, like ABC."),
    (validators.PROJECT["name"], "1 to 100 characters."),
    (validators.PROJECT["description"], "Up to 2,000 characters."),
    (validators.PROJECT["open"], "One of no, read, file."),
    (validators.MEMBER["user"], "1 to 150 characters."),
    (validators.MEMBER["role"], "One of reader, reporter, member, owner."),
    (validators.TICKET["title"], "1 to 200 characters."),
    (validators.TICKET["description"], "Up to 20,000 characters."),
    (validators.TICKET["status"], "One of open, in_progress, done."),
    (validators.TICKET["assignee"], "Up to 150 characters."),
    (validators.TICKET["labels"], "Up to 20, each of up to 40 characters, with commas between them."),
    (validators.FILTER["status"], "Any of open, in_progress, done, void, moved; several may be given."),
    (validators.FILTER["text"], "1 to 200 characters."),
    (validators.VOID["reason"], "Up to 500 characters."),
    (validators.COMMENT["text"], "1 to 20,000 characters."),
    (validators.REQUEST["idempotency_token"], "1 to 255 characters."),
]


@pytest.mark.parametrize(("validator", "hint"), HINTS)
def test_the_limits_in_words(validator: validators.Validator, hint: str) -> None:
    """Beside each field stands what it takes."""
    assert validator.hint == hint


def test_the_limits_for_programs() -> None:
    """The document of the API has them as JSON Schema; null is in it where it stands for nothing."""
    title, description, labels = (validators.TICKET[name].schema for name in ("title", "description", "labels"))
    assert (title["type"], title["minLength"], title["maxLength"]) == ("string", 1, 200)
    assert title["allOf"] == [{"$ref": "#/components/schemas/VisibleText"}]
    (text, nothing), others = description["anyOf"], {name for name in description if name != "anyOf"}
    assert (text["maxLength"], text["allOf"]) == (20_000, [{"$ref": "#/components/schemas/VisibleTextOrNothing"}])
    assert (nothing, others) == ({"type": "null"}, set())
    assert labels == {"type": "array", "items": validators.LABEL.schema, "maxItems": 20}
    assert "," in validators.LABEL.schema["not"]["pattern"].replace(kinds.CONTROLS, "")
    assert validators.PROJECT["key"].schema == {"type": "string", "pattern": "^[A-Z][A-Z0-9]{1,9}$"}
    assert validators.TICKET["status"].schema == {"type": "string", "enum": ["open", "in_progress", "done"]}
    every = ["open", "in_progress", "done", "void", "moved"]
    assert validators.FILTER["status"].schema == {"type": "array", "items": {"type": "string", "enum": every}}
    moment = {"type": "string", "anyOf": [{"format": "date"}, {"format": "date-time"}]}
    assert validators.FILTER["updated_before"].schema == moment


def test_choices_have_labels() -> None:
    """A form shows the labels of what it sends."""
    assert validators.STATUSES.choices == (("open", "Open"), ("in_progress", "In progress"), ("done", "Done"))


@pytest.mark.parametrize(
    ("value", "cleaned"),
    [(["done", "open"], (Status.OPEN, Status.DONE)), (("void",), (Status.VOID,)), ([], ())],
)
def test_statuses_of_a_filter(value: object, cleaned: object) -> None:
    """Any statuses are taken, in one order; a text or another word is not."""
    assert validators.FILTER["status"].clean(value) == cleaned
    for wrong in ("open", ["open", "lost"]):
        with pytest.raises(ValidationError, match="Any of open, in_progress"):
            validators.FILTER["status"].clean(wrong)


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2026-01-31", "2026-01-31T00:00:00+00:00"),
        ("2026-01-31T12:00:00", "2026-01-31T12:00:00+00:00"),
        ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00+00:00"),
        ("2026-01-31T12:00:00+02:00", "2026-01-31T10:00:00+00:00"),
    ],
)
def test_moments_are_in_utc(value: str, moment: str) -> None:
    """A date is its beginning, and a time that names no zone is in UTC."""
    assert validators.FILTER["created_from"].clean(value).isoformat() == moment


@pytest.mark.parametrize(
    "value", ["", "20260131", "2026-02-30", "2026-01-31 12:00", "2026-W05-6", "0001-01-01T00:00:00+10:00", None, 5]
)
def test_what_is_no_moment(value: object) -> None:
    """Another form, and a time before all times, is refused."""
    with pytest.raises(ValidationError, match="not a moment"):
        validators.FILTER["created_from"].clean(value)


def test_a_day_has_one_form() -> None:
    """Of the forms of ISO 8601 one is read."""
    assert validators.calendar_day("2026-03-05") == date(2026, 3, 5)
    for wrong in ("20260305", "2026-W10-4", "2026-3-5"):
        with pytest.raises(ValueError, match="2026"):
            validators.calendar_day(wrong)


def test_names_can_be_answered() -> None:
    """Half of a surrogate pair in the name of a field is written out; other names stay."""
    assert [validators.readable(name) for name in ("ä", "\ud800", 5)] == ["ä", r"\ud800", "5"]


def test_which_label_is_wrong() -> None:
    """A wrong label is named by its place in the list, which has at most 20, each without a comma."""
    with pytest.raises(WrongPart) as caught:
        validators.TICKET["labels"].clean(["fine", "a,b"])
    assert (caught.value.path, caught.value.message) == ((1,), "The character ',' cannot be used here. Remove it.")


def test_what_a_message_says() -> None:
    """A message has the limit and what was sent, or the key that was meant."""
    for validator, value, message in (
        (validators.TICKET["description"], "x" * 20_001, "At most 20,000 characters, these are 20,001."),
        (validators.TICKET["labels"], ["x"] * 21, "At most 20 labels, these are 21."),
        (validators.PROJECT["key"], "abc", f"This is not a project key: {HINTS[0][1]}"),
        (validators.TICKET["status"], "lost", "One of open, in_progress, done."),
        (validators.TICKET["title"], " ", "This must not be empty."),
    ):
        with pytest.raises(ValidationError) as caught:
            validator.clean(value)
        assert caught.value.messages == [message]


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
