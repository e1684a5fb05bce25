"""The limits of the fields of projects and tickets, in one place.

A validator takes a value that somebody sent and returns it cleaned, or raises Django's ValidationError with a message
for that person. `clean` cleans several fields and raises all messages together. Forms, services and the REST API have
no limits of their own. Forms show a validator's `hint` beside its field, and the document of the API its `schema`.

What JSON Schema cannot say: a date of a document or a cursor may be refused although it has the right form.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from typing import Any, Protocol

from django.core.exceptions import ValidationError

from tickets.characters import CONTROLS, DIRECTIONS, LINES, SEEN, SURROGATES, TAGS, named
from tickets.exceptions import InvalidInput, ProjectNotFound, WrongPart
from tickets.types import PROJECT_KEY, Opening, ProjectKey, Role, Status

Schema = dict[str, Any]


VISIBLE = re.compile(f"{SEEN[:-1]}{TAGS}]")


class Validator(Protocol):
    """The limits of one field."""

    @property
    def hint(self) -> str:
        """The limits in words for people."""

    @property
    def schema(self) -> Schema:
        """The limits in JSON Schema, for programs."""

    def clean(self, value: Any) -> Any:
        """The value to store. Raises ValidationError if the value is not allowed."""


def or_null(schema: Schema) -> Schema:
    """The values of a schema, and null."""
    return {"anyOf": [schema, {"type": "null"}]}


@dataclass(frozen=True, kw_only=True)
class Text:
    """A text of `least` to `most` characters, some of them visible. It has one line, unless `lines` is set.

    Spaces around it are removed. `without` are characters that it cannot have.
    """

    least: int = 0
    most: int
    lines: bool = False
    without: str = ""

    @property
    def hint(self) -> str:
        """The limits in words."""
        return f"{f'{self.least} to' if self.least else 'Up to'} {self.most:,} characters."

    @property
    def schema(self) -> Schema:
        shape = {"$ref": f"#/components/schemas/{'VisibleText' if self.least else 'VisibleTextOrNothing'}"}
        length = {"minLength": self.least, "maxLength": self.most}
        limited = {"type": "string", **length, "not": {"pattern": f"[{self.refused}]"}, "allOf": [shape]}
        return limited if self.least else or_null(limited)

    @property
    def refused(self) -> str:
        """The characters that it cannot have, as a part of a regular expression."""
        # A text of its own lines disturbs nothing beside it.
        return CONTROLS + self.without + ("" if self.lines else LINES + DIRECTIONS)

    @cached_property
    def _bad(self) -> re.Pattern[str]:
        return re.compile(f"[{self.refused}{SURROGATES}]")

    def clean(self, value: Any) -> str:
        """The text without spaces around it. Its line ends become newlines."""
        if value is None:
            value = ""
        if not isinstance(value, str):
            raise ValidationError("This must be text.")
        text = value.replace("\r\n", "\n")
        if len(text) > self.most:
            raise ValidationError(f"At most {self.most:,} characters, these are {len(text):,}.")
        if bad := self._bad.search(text):
            raise ValidationError(f"The character {named(bad[0])} cannot be used here. Remove it.")
        if not text.strip(" \t\n\r"):
            if self.least:
                raise ValidationError("This must not be empty.")
            return ""
        if not VISIBLE.search(text):
            raise ValidationError("Nothing can be seen of this text. Write something that can.")
        return text.strip()


@dataclass(frozen=True, kw_only=True, slots=True)
class Labels:
    """Up to `most` different labels. A label has no comma, because forms separate labels by commas."""

    most: int
    each: Text

    @property
    def hint(self) -> str:
        """The limits in words."""
        return f"Up to {self.most}, each of up to {self.each.most} characters, with commas between them."

    @property
    def schema(self) -> Schema:
        return {"type": "array", "items": self.each.schema, "maxItems": self.most}

    def clean(self, value: Any) -> tuple[str, ...]:
        """The labels in their order, without duplicates."""
        if isinstance(value, str | Mapping) or not isinstance(value, Sequence):
            raise ValidationError("This must be a list of labels.")
        if len(value) > self.most:
            raise ValidationError(f"At most {self.most} labels, these are {len(value)}.")
        return tuple(dict.fromkeys(self._clean_label(index, label) for index, label in enumerate(value)))

    def _clean_label(self, index: int, value: Any) -> str:
        try:
            return self.each.clean(value)
        except ValidationError as error:
            raise WrongPart(error.messages[0], index) from error


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """The key of a project or of what else has such keys; `empty` explains an empty text, where one is allowed."""

    of: str = "project"
    like: str = "ABC"
    empty: str = ""

    @property
    def hint(self) -> str:
        """The limits in words."""
        return f"2 to 10 capital letters and digits, the first a letter, like {self.like}.{self.empty}"

    @property
    def schema(self) -> Schema:
        return {"type": "string", "pattern": f"^(?:{PROJECT_KEY})?$" if self.empty else f"^{PROJECT_KEY}$"}

    def clean(self, value: Any) -> str:
        """The key as it was sent."""
        try:
            return "" if self.empty and value == "" else ProjectKey.parse(value)
        except (TypeError, ValueError) as error:
            raise ValidationError(f"This is not a {self.of} key: {self.hint}") from error


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of some values, which people know by their labels."""

    values: tuple[Any, ...]

    @property
    def choices(self) -> tuple[tuple[str, str], ...]:
        """The values with their labels, for a form."""
        return tuple((value.value, value.label) for value in self.values)

    @property
    def hint(self) -> str:
        """The values in words."""
        return f"One of {', '.join(self.values)}."

    @property
    def schema(self) -> Schema:
        return {"type": "string", "enum": [value.value for value in self.values]}

    def clean(self, value: Any) -> Any:
        """The value of this name."""
        if not isinstance(value, str) or value not in self.values:
            raise ValidationError(self.hint)
        return self.values[self.values.index(value)]


STATUSES = OneOf(tuple(status for status in Status if status not in {Status.VOID, Status.MOVED}))
"""The statuses that people can choose; void and moved are not among them."""
ROLES = OneOf(tuple(Role))
OPENINGS = OneOf(tuple(Opening))


class AnyStatuses:
    """One or more statuses of a filter; void and moved are among them."""

    hint = f"Any of {', '.join(Status)}; several may be given."
    schema: Schema = {"type": "array", "items": {"type": "string", "enum": [*Status]}}

    def clean(self, value: Any) -> tuple[Status, ...]:
        """The statuses of these names, in one order."""
        if isinstance(value, str) or not {*value} <= {*Status}:
            raise ValidationError(self.hint)
        return tuple(status for status in Status if status in value)


class Moments:
    """The moments at which ranges begin and end."""

    hint = "A date, like 2026-01-31, or a time, like 2026-01-31T12:00:00Z; in UTC if it names no other zone."
    schema: Schema = {"type": "string", "anyOf": [{"format": "date"}, {"format": "date-time"}]}

    def clean(self, value: Any) -> datetime:
        """The moment. A date is its beginning."""
        try:
            if not re.match(r"\d{4}-\d\d-\d\d(T|$)", value):
                raise ValueError
            moment = datetime.fromisoformat(value)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValidationError(f"This is not a moment. {self.hint}") from error


PROJECT: Mapping[str, Validator] = {
    "key": Key(),
    "name": Text(least=1, most=100),
    "description": Text(most=2_000, lines=True),
    "open": OPENINGS,
}
LONGEST_TEXT = 20_000  # characters of a description or a comment
LABEL = Text(least=1, most=40, without=",")
MEMBER: Mapping[str, Validator] = {"user": Text(least=1, most=150), "role": ROLES}
TICKET: Mapping[str, Validator] = {
    "title": Text(least=1, most=200),
    "description": Text(most=LONGEST_TEXT, lines=True),
    "status": STATUSES,
    "assignee": Text(most=150),
    "labels": Labels(most=20, each=LABEL),
}
FILTER: Mapping[str, Validator] = {
    "status": AnyStatuses(),
    "assignee": Text(least=1, most=150),
    "label": LABEL,
    "reporter": Text(least=1, most=150),
    "text": Text(least=1, most=200),
    **dict.fromkeys(("created_from", "created_before", "updated_from", "updated_before"), Moments()),
}
VOID: Mapping[str, Validator] = {"reason": Text(most=500, lines=True)}
COMMENT: Mapping[str, Validator] = {"text": Text(least=1, most=LONGEST_TEXT, lines=True)}
MOVE: Mapping[str, Validator] = {"to": PROJECT["key"]}
# The caller's name for one request.
REQUEST: Mapping[str, Validator] = {"idempotency_token": Text(least=1, most=255)}


def clean(values: Mapping[str, Any], validators: Mapping[str, Validator]) -> dict[str, Any]:
    """The values, each cleaned by the validator of its field. Raises InvalidInput with the messages of all fields."""
    cleaned, complaints = {}, dict[str, ValidationError]()
    for field, value in values.items():
        if field not in validators:
            complaints[field] = ValidationError("There is no such field.")
            continue
        try:
            cleaned[field] = validators[field].clean(value)
        except ValidationError as error:
            complaints[field] = error
    if complaints:
        raise InvalidInput(complaints)
    return cleaned


def readable(name: object) -> str:
    """The name of a field that somebody sent, without lone surrogates: no answer could be sent with them."""
    return str(name).encode(errors="backslashreplace").decode()


def calendar_day(text: str) -> date:
    """The day in a text such as "2026-03-05". Raises ValueError for any other form, as ISO 8601 has more than one."""
    day = date.fromisoformat(text)
    if day.isoformat() != text:
        raise ValueError(f"{text!r} is not like 2026-03-05.")
    return day


def project_key(text: str) -> ProjectKey:
    """The project key in a text. Raises ProjectNotFound for any other text: it may name another part of the table."""
    try:
        return ProjectKey.parse(text)
    except ValueError as error:
        raise ProjectNotFound(text) from error
