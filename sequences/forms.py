"""The form by which the administration makes a guarded change of one scope."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django import forms

from . import changes
from .exceptions import SequenceError
from .guarded import LONGEST_REASON
from .types import Change, named_scope

__all__ = ["ChangeForm"]


def _recover(alias: str, **given: Any) -> Change:
    (change,) = changes.recover(alias, **given)
    return change


MAKERS: Mapping[str, tuple[str, str, Callable[..., Change]]] = {
    "advance": ("Advance: the next numbers begin above this one", "to", changes.advance),
    "freeze": ("Freeze: refuse every write", "", changes.freeze),
    "thaw": ("Thaw: let it go on", "", changes.thaw),
    "recover": ("Recover: above all that is stored or remembered, by this margin", "margin", _recover),
    "void": ("Void: withdraw this number", "value", changes.void),
}
"""The changes: the label, which argument the number of the form is, and the function."""


class ChangeForm(forms.Form):
    """Which change, of which scope, and why. `preview` tells what it would do, and `make` does it."""

    kind = forms.ChoiceField(label="Change", choices=[(kind, label) for kind, (label, _, _) in MAKERS.items()])
    scope = forms.CharField(required=False, help_text="Empty for a sequence without scopes.")
    period = forms.CharField(required=False, help_text="Such as 2026. Empty for the period of today, or for none.")
    number = forms.IntegerField(required=False, min_value=0, help_text="For advance, recover and void.")
    reason = forms.CharField(max_length=LONGEST_REASON, help_text="It is kept in the history.")

    def clean(self) -> dict[str, Any]:
        """Ask for the number of a change that needs one."""
        cleaned: dict[str, Any] = super().clean() or {}
        if "kind" in cleaned and MAKERS[cleaned["kind"]][1] and cleaned.get("number") is None:
            self.add_error("number", "This change needs a number.")
        return cleaned

    def preview(self, alias: str, by: str) -> Change | None:
        """What the change would do; None if that is an error, which is in the form."""
        return self._make(alias, by, dry_run=True)

    def make(self, alias: str, by: str) -> Change | None:
        """Make the change; None if that was an error, which is in the form."""
        return self._make(alias, by, dry_run=False)

    def _make(self, alias: str, by: str, *, dry_run: bool) -> Change | None:
        cleaned = self.cleaned_data
        _, argument, maker = MAKERS[cleaned["kind"]]
        number = {argument: cleaned["number"]} if argument else {}
        scope = named_scope(cleaned["scope"] or None)
        try:
            return maker(
                alias,
                scope=scope,
                period=cleaned["period"] or None,
                by=by,
                reason=cleaned["reason"],
                dry_run=dry_run,
                **number,
            )
        except (SequenceError, ValueError) as error:
            self.add_error(None, str(error))
            return None
