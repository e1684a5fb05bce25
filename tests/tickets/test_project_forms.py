"""The forms of projects and their members: what a browser is told of each field, and what is sent on."""

from typing import Any

import pytest
from django.forms import Form

from tickets.project_forms import MemberForm, NewProjectForm

TOKEN = {"token": "t"}
FIELDS: dict[type[Form], dict[str, tuple[str, dict[str, Any]]]] = {
    NewProjectForm: {
        "name": ("Name", {"required": True, "autofocus": True}),
        "key": ("Key", {"required": True, "autocapitalize": "characters"}),
        "description": ("Description", {"cols": "40", "rows": 3}),
        "open": ("For everybody who is signed in", {}),
    },
    MemberForm: {"user": ("User name", {"required": True, "autocapitalize": "none"}), "role": ("Role", {})},
}


@pytest.mark.parametrize("form", FIELDS)
def test_what_a_browser_is_told(form: type[Form]) -> None:
    """It asks for what must be there, and writes keys in capitals and names as they are typed."""
    shown = {field.name: (f"{field.label}", field.field.widget.attrs) for field in form() if field.name != "token"}
    assert shown == FIELDS[form]


@pytest.mark.parametrize("form", FIELDS)
def test_the_service_says_what_is_wrong(form: type[Form]) -> None:
    """A form that lacks everything is passed on: the limits are those of the service."""
    assert form(TOKEN).is_valid()


def test_the_choices() -> None:
    """What everybody may do, and the roles, by their labels."""
    choices: list[Any] = [NewProjectForm().fields["open"].widget, MemberForm().fields["role"].widget]
    assert [[value for value, _ in widget.choices] for widget in choices] == [
        ["no", "read", "file"],
        ["reader", "reporter", "member", "owner"],
    ]


@pytest.mark.parametrize(("sent", "content"), [({"open": "read"}, {"open": "read"}), ({"open": ""}, {}), ({}, {})])
def test_a_choice_that_was_not_sent_stays(sent: dict[str, str], content: dict[str, str]) -> None:
    """Other fields are sent on as they were typed, also where they are empty."""
    form = NewProjectForm({**TOKEN, "name": "", "key": "ABC", **sent})
    assert form.is_valid()
    assert form.content == {"name": "", "key": "ABC", "description": "", **content}
