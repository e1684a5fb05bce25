"""The forms of a new API token and of another password."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.password_validation import password_validators_help_texts

from tickets.accounts.validators import TOKEN, usual_days
from tickets.forms import KeyField, OnceForm

CHOICES = (7, 30, 90, 365)


class TokenForm(OnceForm):
    """A name, how long the token opens the API, and how much of it."""

    validated_by = TOKEN
    name = forms.CharField(
        required=False,
        widget=forms.TextInput({"required": True, "autofocus": True}),
        help_text="What it is for, so that you know it later. Up to 100 characters.",
    )
    days = forms.TypedChoiceField(label="Expires", coerce=int, empty_value=None, required=False)
    read_only = forms.BooleanField(
        label="May", required=False, widget=forms.Select(choices=[("", "Read and change"), ("yes", "Only read")])
    )
    project = KeyField(required=False, widget=forms.TextInput({"autocapitalize": "characters"}))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        most, usual = settings.API_TOKEN_MOST_DAYS, usual_days()
        days = sorted(day for day in {*CHOICES, usual} if day is not None and (most is None or day <= most))
        choices: list[tuple[Any, str]] = [(day, f"After {day} days" if day < 365 else "After a year") for day in days]
        field = self.fields["days"]
        assert isinstance(field, forms.TypedChoiceField)
        field.choices = [*choices, ("", "Never")] if most is None else choices
        field.initial = usual


class PasswordForm(PasswordChangeForm):
    """Django's form, with its rules as one text."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["new_password1"].help_text = " ".join(password_validators_help_texts())
