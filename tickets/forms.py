"""The forms of the pages: which fields people see, and how a form shows what a service refuses.

Forms have no limits of their own: services check what was typed. After any known error the form is shown again with
what was typed.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS

from sequences.storage import new_token
from tickets import validators
from tickets.problems import KNOWN, Problem, Remedy, explain
from tickets.types import Project, Ticket

WHO = "The person who works on it. It can be left empty."
REMEDIES = {
    Remedy.REPEAT: "What you typed is still here: send it again in a moment. It will not be stored twice.",
    Remedy.RENEW: "If you want to store this content as well, send it again.",
}


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
    def of(cls, subject: Ticket | Project) -> Self:
        """The form, filled with this ticket or project."""
        return cls(initial={name: getattr(subject, name, "") for name in cls.validated_by.keys() | {"version"}})

    @property
    def one_time_token(self) -> str | None:
        """The idempotency token of this form: its content is stored once, however often the form is sent."""
        return self.cleaned_data["token"] or None

    @property
    def version_read(self) -> int:
        """The version of the ticket that the change is based on."""
        return int(self.cleaned_data["version"])

    @property
    def http_status(self) -> int:
        """The status of the page that shows the form."""
        if self.problem:
            return self.problem.status
        return 400 if self.errors else 200

    @property
    def http_headers(self) -> dict[str, str]:
        """The headers of the page that shows the form."""
        return self.problem.headers if self.problem else {}

    @contextmanager
    def refusals(self) -> Iterator[None]:
        """Turn known errors inside the `with` block into errors of this form."""
        try:
            yield
        except KNOWN as error:
            self.problem = explain(error, type(self).__name__)
            self._show(self.problem)

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
        self.data = {**{name: self.data[name] for name in self.data}, self.add_prefix(field): value}


class LabelsField(forms.Field):
    """Labels with commas between them."""

    def to_python(self, value: Any) -> list[str]:
        """The labels in the text."""
        return [label for label in (value or "").split(",") if label.strip()]

    def prepare_value(self, value: Any) -> Any:
        """The labels as one text."""
        return value if isinstance(value, str) else ", ".join(value or ())


def one_line(**attributes: Any) -> forms.TextInput:
    """An input for a short text. The browser does not complete it."""
    return forms.TextInput({"autocomplete": "off", **attributes})


class ProjectForm(ServiceForm):
    """The key, the name and the description of a project."""

    validated_by = validators.PROJECT
    name = forms.CharField(required=False, widget=one_line(required=True, autofocus=True))
    key = forms.CharField(required=False, widget=one_line(required=True, autocapitalize="characters"))
    description = forms.CharField(required=False, widget=forms.Textarea({"rows": 3}))

    def clean_key(self) -> str:
        """The key in capital letters."""
        return str(self.cleaned_data["key"]).upper()


class NewProjectForm(ProjectForm):
    """A new project."""

    token = forms.CharField(required=False, widget=forms.HiddenInput, initial=new_token)


class NewTicketForm(ServiceForm):
    """A new ticket."""

    validated_by = {name: validator for name, validator in validators.TICKET.items() if name != "status"}
    title = forms.CharField(required=False, widget=one_line(required=True, autofocus=True))
    description = forms.CharField(required=False, widget=forms.Textarea({"rows": 8}))
    assignee = forms.CharField(required=False, widget=one_line(autocapitalize="none"), help_text=WHO)
    labels = LabelsField(required=False, widget=one_line(autocapitalize="none"))
    token = forms.CharField(required=False, widget=forms.HiddenInput, initial=new_token)


class TicketForm(ServiceForm):
    """A change of a ticket, based on the version that was read."""

    validated_by = validators.TICKET
    title = forms.CharField(required=False, widget=one_line(required=True))
    status = forms.CharField(required=False, widget=forms.Select(choices=validators.Statuses.choices))
    assignee = forms.CharField(required=False, widget=one_line(autocapitalize="none"), help_text=WHO)
    labels = LabelsField(required=False, widget=one_line(autocapitalize="none"))
    description = forms.CharField(required=False, widget=forms.Textarea({"rows": 10}))
    version = forms.IntegerField(min_value=1, max_value=2**53 - 1, widget=forms.HiddenInput)


class VoidForm(ServiceForm):
    """The reason for voiding a ticket."""

    validated_by = validators.VOID
    reason = forms.CharField(required=False, label="Why?", widget=forms.Textarea({"rows": 3}))
    version = forms.IntegerField(min_value=1, max_value=2**53 - 1, widget=forms.HiddenInput)


class MoveForm(ServiceForm):
    """The project to move a ticket to."""

    validated_by = validators.MOVE
    to = forms.CharField(
        required=False,
        label="To project",
        widget=one_line(required=True, autofocus=True, autocapitalize="characters", list="projects"),
        help_text="The key of the project, like ABC.",
    )
    version = forms.IntegerField(min_value=1, max_value=2**53 - 1, widget=forms.HiddenInput)
    token = forms.CharField(required=False, widget=forms.HiddenInput, initial=new_token)

    def clean_to(self) -> str:
        """The key in capital letters."""
        return str(self.cleaned_data["to"]).upper()
