"""The forms of projects and their members."""

from typing import Any

from django import forms

from tickets import validators
from tickets.forms import COMPARISON, KeyField, OnceForm, ServiceForm, VersionedForm

ROLES = (
    "A reader reads. A reporter also files tickets, and changes their own. A member also changes and moves all "
    "tickets. An owner also voids them, edits the project and chooses its members."
)


class ProjectForm(ServiceForm):
    """The key, the name and the description of a project."""

    validated_by = validators.PROJECT
    name = forms.CharField(required=False, widget=forms.TextInput({"required": True, "autofocus": True}))
    key = KeyField(required=False, widget=forms.TextInput({"required": True, "autocapitalize": "characters"}))
    description = forms.CharField(required=False, widget=forms.Textarea({"rows": 3}))
    open = forms.CharField(
        required=False, label="For everybody who is signed in", widget=forms.Select(choices=validators.OPENINGS.choices)
    )

    @property
    def content(self) -> dict[str, Any]:
        """What was typed. A form that was sent without its choice leaves that as it is."""
        return {name: value for name, value in super().content.items() if name != "open" or value}


class ProjectChangeForm(VersionedForm, ProjectForm):
    """A change of a project, based on the version that was read."""

    current_template = COMPARISON


class NewProjectForm(ProjectForm, OnceForm):
    """A new project."""


class MemberForm(ServiceForm):
    """A member of a project."""

    validated_by = validators.MEMBER
    user = forms.CharField(
        required=False,
        label="User name",
        widget=forms.TextInput({"required": True, "autocapitalize": "none"}),
        help_text="The name with which the person signs in.",
    )
    role = forms.CharField(required=False, widget=forms.Select(choices=validators.ROLES.choices), help_text=ROLES)
