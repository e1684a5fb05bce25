"""The limits of the fields of projects and tickets, in one place.

A validator takes a value that somebody sent and returns it cleaned, or raises Django's ValidationError with a message
for that person. `clean` cleans several fields and raises all messages together. Forms, services and the REST API have
no limits of their own. Forms show a validator's `hint` beside its field.
"""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from django.core.exceptions import ValidationError

from tickets.exceptions import InvalidInput, ProjectNotFound
from tickets.types import ProjectKey, Status

# Control characters, lone surrogates (which UTF-8 cannot encode), line and paragraph separators.
REFUSED_CATEGORIES = {"Cc", "Cs", "Zl", "Zp"}


class Validator(Protocol):
    """The limits of one field."""

    @property
    def hint(self) -> str:
        """The limits in words for people."""

    def clean(self, value: Any) -> Any:
        """The value to store. Raises ValidationError if the value is not allowed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Text:
    """A text of `least` to `most` characters, without spaces around it. It has one line, unless `lines` is set."""

    least: int = 0
    most: int
    lines: bool = False

    @property
    def hint(self) -> str:
        """The limits in words."""
        return f"{f'{self.least} to' if self.least else 'Up to'} {self.most:,} characters."

    def clean(self, value: Any) -> str:
        """The text without spaces around it. Its line ends become newlines."""
        if value is None:
            value = ""
        if not isinstance(value, str):
            raise ValidationError("This must be text.")
        text = value.replace("\r\n", "\n").strip()
        if bad := next((character for character in dict.fromkeys(text) if not self._allows(character)), None):
            raise ValidationError(f"The character U+{ord(bad):04X} cannot be used here. Remove it.")
        if len(text) < self.least:
            raise ValidationError("This must not be empty.")
        if len(text) > self.most:
            raise ValidationError(f"At most {self.most:,} characters, these are {len(text):,}.")
        return text

    def _allows(self, character: str) -> bool:
        if self.lines and character in "\n\t":
            return True
        return unicodedata.category(character) not in REFUSED_CATEGORIES


@dataclass(frozen=True, kw_only=True, slots=True)
class Labels:
    """Up to `most` different labels. A label has no comma, because forms separate labels by commas."""

    most: int
    each: Text

    @property
    def hint(self) -> str:
        """The limits in words."""
        return f"Up to {self.most}, each of up to {self.each.most} characters, with commas between them."

    def clean(self, value: Any) -> tuple[str, ...]:
        """The labels in their order, without duplicates."""
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise ValidationError("This must be a list of labels.")
        labels = tuple(dict.fromkeys(self._clean_label(label) for label in value))
        if len(labels) > self.most:
            raise ValidationError(f"At most {self.most} labels, these are {len(labels)}.")
        return labels

    def _clean_label(self, value: Any) -> str:
        label = self.each.clean(value)
        if "," in label:
            raise ValidationError(f"A label cannot hold a comma: {label!r}.")
        return label


class ProjectKeys:
    """The keys of projects."""

    hint = "2 to 10 capital letters and digits, the first a letter, like ABC."

    def clean(self, value: Any) -> ProjectKey:
        """The key as it was sent."""
        try:
            return ProjectKey.parse(value)
        except (TypeError, ValueError) as error:
            raise ValidationError(f"This is not a project key: {self.hint}") from error


class Statuses:
    """The statuses that people can choose; void and moved are not among them."""

    choices = tuple((status.value, status.label) for status in Status if status not in {Status.VOID, Status.MOVED})
    hint = f"One of {', '.join(value for value, _ in choices)}."

    def clean(self, value: Any) -> Status:
        """The status of this name."""
        if not isinstance(value, str) or value not in dict(self.choices):
            raise ValidationError(self.hint)
        return Status(value)


PROJECT: Mapping[str, Validator] = {
    "key": ProjectKeys(),
    "name": Text(least=1, most=100),
    "description": Text(most=2_000, lines=True),
}
TICKET: Mapping[str, Validator] = {
    "title": Text(least=1, most=200),
    "description": Text(most=20_000, lines=True),
    "status": Statuses(),
    "assignee": Text(most=150),
    "labels": Labels(most=20, each=Text(least=1, most=40)),
}
VOID: Mapping[str, Validator] = {"reason": Text(most=500, lines=True)}
MOVE: Mapping[str, Validator] = {"to": PROJECT["key"]}
# The caller's name for one request.
REQUEST: Mapping[str, Validator] = {"idempotency_token": Text(least=1, most=200)}


def clean(values: Mapping[str, Any], validators: Mapping[str, Validator]) -> dict[str, Any]:
    """The values, each cleaned by the validator of its field. Raises InvalidInput with the messages of all fields."""
    cleaned, complaints = {}, {}
    for field, value in values.items():
        try:
            cleaned[field] = _validator(field, validators).clean(value)
        except ValidationError as error:
            complaints[field] = error.messages
    if complaints:
        raise InvalidInput(complaints)
    return cleaned


def _validator(field: str, validators: Mapping[str, Validator]) -> Validator:
    if field not in validators:
        raise ValidationError("There is no such field.")
    return validators[field]


def readable(name: object) -> str:
    """The name of a field that somebody sent, without lone surrogates: no answer could be sent with them."""
    return str(name).encode(errors="backslashreplace").decode()


def project_key(text: str) -> ProjectKey:
    """The project key in a text. Raises ProjectNotFound for any other text: it may name another part of the table."""
    try:
        return ProjectKey.parse(text)
    except ValueError as error:
        raise ProjectNotFound(text) from error
