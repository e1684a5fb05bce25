"""The forms of the pages: which fields people see, and how a form shows what a service refuses.

Forms have no limits of their own: services check what was typed. After any known error the form is shown again with
what was typed.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from sequences.rest.problems import Problem, Remedy
from sequences.storage import new_token
from tickets import validators
from tickets.problems import KNOWN, explain
from tickets.timeline.types import Event
from tickets.types import Project, Ticket

CONTEXT = 200  # characters around what differs
WHO = "The person who works on it. It can be left empty."
COMPARISON = "tickets/differences.html"
REMEDIES = {
    Remedy.REPEAT: "What you typed is still here: send it again in a moment. It will not be stored twice.",
    Remedy.RENEW: "If you want to store this content as well, send it again.",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """One field, as it was typed and as it is now: some of the same text before and after, and what differs."""

    label: str
    before: str
    typed: str
    current: str
    after: str

    @classmethod
    def of(cls, label: str, typed: str, current: str) -> "Difference":
        """The difference of two texts, from the first to the last character that differs."""
        start = _shared(typed, current)
        same = _shared(typed[start:][::-1], current[start:][::-1])
        ends = len(typed) - same, len(current) - same
        before, after = typed[:start], typed[ends[0] :]
        return cls(
            label=label,
            before=before if len(before) <= CONTEXT else f"…{before[-CONTEXT:]}",
            typed=typed[start : ends[0]],
            current=current[start : ends[1]],
            after=after if len(after) <= CONTEXT else f"{after[:CONTEXT]}…",
        )


def _shared(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginnings."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (left, right) in pairs if left != right), min(len(one), len(other)))


class ServiceForm(forms.Form):
    """A form for a call of a service. `problem` says why the service refused the content; None if it did not."""

    validated_by: Mapping[str, validators.Validator] = {}
    current_template = "tickets/current.html"  # shows what was changed meanwhile
    problem: Problem | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)
        for name, validator in self.validated_by.items():
            if not self.fields[name].help_text and not isinstance(self.fields[name].widget, forms.Select):
                self.fields[name].help_text = validator.hint  # a list of choices needs no hint

    @property
    def content(self) -> dict[str, Any]:
        """What was typed, for a service. The service checks it."""
        return {name: self.cleaned_data[name] for name in self.validated_by}

    @classmethod
    def typed(cls, request: HttpRequest) -> Self | None:
        """The form with what was typed; None if it is shown for the first time."""
        return cls(request.POST) if request.method == "POST" else None

    @classmethod
    def of(cls, subject: Ticket | Project | Event) -> Self:
        """The form, filled with this ticket, project or comment."""
        return cls(initial={name: getattr(subject, name, "") for name in cls.validated_by.keys() | {"version"}})

    def suggest(self, labels: Sequence[str]) -> Self:
        """Offer labels beside the field for them, if the form has one."""
        if isinstance(field := self.fields.get("labels"), LabelsField):
            field.widget.suggested = labels
        return self

    @contextmanager
    def refusals(self) -> Iterator[None]:
        """Turn known errors inside the `with` block into errors of this form."""
        try:
            yield
        except KNOWN as error:
            self.problem = explain(error, type(self).__name__)
            self._show(self.problem)

    @property
    def compares(self) -> bool:
        """Whether what is there now has fields of this form: a comment's may be of a ticket that has moved."""
        current = self.problem and self.problem.current
        return any(hasattr(current, name) for name in self.validated_by)

    @property
    def differences(self) -> list[Difference]:
        """The fields in which what was typed differs from what is there now."""
        current = self.problem and self.problem.current
        found = []
        for name, validator in self.validated_by.items():
            if hasattr(current, name):
                typed, now = _words(self.cleaned_data.get(name), validator), _words(getattr(current, name), validator)
                found += [Difference.of(str(self[name].label), typed, now)] if typed != now else []
        return found

    def _show(self, problem: Problem) -> None:
        """Show what is wrong, and prepare the form to be sent again: with a new token, or for the current version."""
        for field, messages in (problem.fields or {NON_FIELD_ERRORS: [problem.words(REMEDIES)]}).items():
            self.add_error(field if field in self.fields else None, list(messages))
        if problem.remedy is Remedy.RENEW:
            self._replace("token", new_token())
        if problem.current:
            self._replace("version", str(problem.current.version))

    def _replace(self, field: str, value: str) -> None:
        """Change the value that a hidden field sends next time."""
        data: Any = copy(self.data)
        data[self.add_prefix(field)] = value
        self.data = data


class OnceForm(ServiceForm):
    """A form whose content is stored once, however often it is sent."""

    token = forms.CharField(required=False, widget=forms.HiddenInput, initial=new_token)

    @property
    def one_time_token(self) -> str | None:
        """The idempotency token."""
        return self.cleaned_data["token"] or None


class VersionedForm(ServiceForm):
    """A form for a change that is based on the version that was read."""

    version = forms.IntegerField(min_value=1, max_value=2**53 - 1, widget=forms.HiddenInput)

    @property
    def version_read(self) -> int:
        """The version that the change is based on."""
        return int(self.cleaned_data["version"])


class MarkdownInput(forms.Textarea):
    """A text in Markdown, with a button that shows what becomes of it."""

    def __init__(self, rows: int, **attributes: Any) -> None:
        super().__init__({"rows": rows, "placeholder": "Markdown. A key like ABC-7 becomes a link.", **attributes})

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        """The text, and below it the button and the place of the preview."""
        return super().render(name, value, attrs, renderer) + render_to_string("tickets/preview_button.html")


class LabelsInput(forms.TextInput):
    """A text for labels, and a box to tick for each label that is suggested."""

    suggested: Sequence[str] = ()

    def value_from_datadict(self, data: Any, files: Any, name: str) -> str:
        """The labels that were typed and those that were ticked, as one text."""
        return ", ".join(text for text in data.getlist(name) if text.strip())

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        """The text, and below it the boxes for the labels that are not in it."""
        typed = labels_in(value)
        suggested = [label for label in self.suggested if label not in typed]
        boxes = render_to_string("tickets/labels_suggested.html", {"name": name, "suggested": suggested})
        return super().render(name, value, attrs, renderer) + boxes


class LabelsField(forms.Field):
    """Labels with commas between them."""

    widget = LabelsInput({"autocapitalize": "none"})

    def to_python(self, value: Any) -> list[str]:
        """The labels in the text."""
        return labels_in(value)

    def prepare_value(self, value: Any) -> Any:
        """The labels as one text."""
        return value if isinstance(value, str) else ", ".join(value or ())


def labels_in(text: str | None) -> list[str]:
    """The labels in a text with commas between them."""
    return [label for label in map(str.strip, (text or "").split(",")) if label]


def _words(value: Any, validator: validators.Validator) -> str:
    """A value as people read it, without what is removed before it is stored."""
    if isinstance(value, list | tuple):
        return ", ".join(value)
    text = str(value or "").replace("\r\n", "\n").strip()
    return dict(validator.choices).get(text, text) if isinstance(validator, validators.OneOf) else text


class NewTicketForm(OnceForm):
    """A new ticket."""

    validated_by = {name: validator for name, validator in validators.TICKET.items() if name != "status"}
    title = forms.CharField(required=False, widget=forms.TextInput({"required": True, "autofocus": True}))
    description = forms.CharField(required=False, widget=MarkdownInput(8))
    assignee = forms.CharField(required=False, widget=forms.TextInput({"autocapitalize": "none"}), help_text=WHO)
    labels = LabelsField(required=False)


class ProgressForm(VersionedForm):
    """A change of who works on a ticket, and how far they are, based on the version that was read."""

    validated_by: Mapping[str, validators.Validator] = {
        name: validators.TICKET[name] for name in ("status", "assignee")
    }
    current_template = COMPARISON
    status = forms.CharField(required=False, widget=forms.Select(choices=validators.STATUSES.choices))
    assignee = forms.CharField(required=False, widget=forms.TextInput({"autocapitalize": "none"}), help_text=WHO)


class TicketForm(ProgressForm):
    """A change of a ticket, based on the version that was read."""

    field_order = ("title",)
    validated_by = validators.TICKET
    title = forms.CharField(required=False, widget=forms.TextInput({"required": True}))
    labels = LabelsField(required=False)
    description = forms.CharField(required=False, widget=MarkdownInput(10))


class ReasonForm(VersionedForm):
    """The reason for voiding a ticket, or for restoring it."""

    validated_by = validators.VOID
    reason = forms.CharField(required=False, label="Why?", widget=forms.Textarea({"rows": 3}))


class KeyField(forms.CharField):
    """A key, whatever the case of the letters that were typed."""

    def to_python(self, value: Any) -> str:
        """The key in capital letters."""
        return str(super().to_python(value)).upper()


class MoveForm(VersionedForm, OnceForm):
    """The project to move a ticket to."""

    validated_by = validators.MOVE
    to = KeyField(
        required=False,
        label="To project",
        widget=forms.TextInput(
            {"required": True, "autofocus": True, "autocapitalize": "characters", "list": "projects"}
        ),
        help_text="The key of the project, like ABC.",
    )


class CommentForm(OnceForm):
    """A new comment."""

    validated_by = validators.COMMENT
    text = forms.CharField(required=False, label="Comment", widget=MarkdownInput(3, required=True))


class CommentChangeForm(VersionedForm):
    """A change of a comment, based on the version that was read."""

    validated_by = validators.COMMENT
    current_template = COMPARISON
    text = forms.CharField(required=False, label="Comment", widget=MarkdownInput(8, required=True))
