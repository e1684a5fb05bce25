"""The forms of the administration's pages about one scope: which scope, which request, and which guarded change."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from django import forms

from .. import changes
from ..changes.arguments import LONGEST_REASON, counted_in
from ..changes.moves import MARGIN
from ..exceptions import InvalidScope, InvalidSequence, InvalidToken, SequenceError
from ..rows.numbers import LARGEST
from ..services.arguments import LONGEST_SCOPE, LONGEST_TOKEN, check_scope, check_token
from ..storage import personal_token
from ..strategies import Strategy
from ..types import Change, Scope, named_scope, parted

NUMBER = forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off", "class": "vTextField"})
REASON = forms.TextInput(attrs={"class": "vTextField"})


class ScopeForm(forms.Form):
    """The scope and the period in the address of a page; both may be left out."""

    scope = forms.CharField(
        required=False,
        strip=False,
        max_length=LONGEST_SCOPE,
        help_text="Leave it empty for the sequence without scopes.",
    )
    period = forms.CharField(
        required=False, max_length=20, help_text="Such as 2026. Leave it empty for the one of today."
    )

    def __init__(self, strategy: Strategy, *given: Any, by_rules: bool = False, **named: Any) -> None:
        """`by_rules`: rules of its own are for a scope in all periods, also where FORMAT does not take it."""
        super().__init__(*given, **named)
        self.strategy, self.by_rules = strategy, by_rules
        if not strategy.layout.in_periods:
            del self.fields["period"]

    def clean(self) -> dict[str, Any]:
        """Find the `counted` scope: in its period, or in today's."""
        cleaned: dict[str, Any] = super().clean() or {}
        if not self.errors:
            named, period = named_scope(cleaned["scope"] or None), cleaned.get("period") or None
            try:
                if self.by_rules:
                    check_scope(named)
                    cleaned["counted"] = named
                else:
                    cleaned["counted"] = counted_in(self.strategy.alias, named, period)
            except ValueError as error:
                self.add_error("scope" if isinstance(error, InvalidScope) or not period else "period", str(error))
        return cleaned


class RequestForm(forms.Form):
    """An idempotency token, as the application stores it, or as the digest of a person and of what they call it."""

    token = forms.CharField(
        label="Idempotency token",
        max_length=LONGEST_TOKEN,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text="As the application gives it to the sequence. With a person below: as that person has sent it.",
    )
    person = forms.CharField(
        required=False,
        label="Of the person",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text="For tokens that the application makes by personal_token(person, token). Otherwise leave it empty.",
    )

    def clean(self) -> dict[str, Any]:
        """Find the token that is `stored`."""
        cleaned: dict[str, Any] = super().clean() or {}
        if "token" in cleaned:
            given, person = cleaned["token"], cleaned.get("person")
            cleaned["stored"] = personal_token(person, given) if person else given
            try:
                check_token(cleaned["stored"])
            except InvalidToken as error:
                self.add_error("token", str(error))
        return cleaned


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """One kind of guarded change: what the function of this name in `changes` does, and the number that it asks for.

    `argument` is the name of the number for that function, empty if there is none. `moves` says whether its effect
    depends on the last value that was shown.
    """

    name: str
    does: str
    argument: str = ""
    label: str = ""
    help: str = ""
    default: int | None = None
    moves: bool = False

    def unavailable(self, strategy: Strategy, *, frozen: bool) -> str:
        """Why it cannot be made of a scope now; empty if it can."""
        try:
            strategy.history.schema  # noqa: B018 - a property that says where the history is
        except InvalidSequence as error:
            return str(error)
        if self.name == "freeze" and frozen:
            return "It is frozen already."
        if self.name == "thaw" and not frozen:
            return "It is not frozen."
        layout = strategy.layout
        if self.name == "void" and len(layout.key(None, strategy.numbers.start)) < len(layout.key_names):
            return "The items of this sequence have keys of their own: withdraw an item in your application."
        return ""


CHANGES: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            name="advance",
            does="Begin the next numbers above a given one. What lies between is never handed out.",
            argument="to",
            label="Above",
            help="The next number is higher than this one.",
            moves=True,
        ),
        Kind(
            name="seed",
            does="Begin above the numbers that are there already, for example after an import. "
            "A sequence that is further stays where it is.",
            argument="source",
            label="The highest number that is there",
            moves=True,
        ),
        Kind(
            name="recover",
            does="After a restore or a fail-over: begin above all that is stored or remembered, by a margin.",
            argument="margin",
            label="Margin",
            help="How many numbers to leave out beyond the evidence: at least what was handed out since the backup.",
            default=MARGIN,
            moves=True,
        ),
        Kind(
            name="freeze", does="Refuse every write in this scope, in every process, until it is thawed. Reads go on."
        ),
        Kind(name="thaw", does="Let the frozen scope go on."),
        Kind(
            name="void",
            does="Withdraw one number. It keeps its place and the reason, for ever.",
            argument="value",
            label="Number",
            help="The number alone, without what FORMAT writes around it.",
        ),
    )
}
"""The kinds of guarded changes that the administration makes of one scope."""


class ChangeForm(forms.Form):
    """One kind of change of one scope, and why."""

    number = forms.IntegerField(min_value=0, max_value=LARGEST, widget=NUMBER)
    reason = forms.CharField(
        max_length=LONGEST_REASON,
        help_text="Why you do this. It is kept in the history with your name.",
        widget=REASON,
    )
    shown = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, kind: Kind, alias: str, scope: Scope, by: str, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.kind, self.alias, self.scope, self.by = kind, alias, scope, by
        self.failure: SequenceError | None = None
        if kind.argument:
            number = self.fields["number"]
            number.label, number.help_text, number.initial = kind.label, kind.help, kind.default
        else:
            del self.fields["number"]

    def make(self, *, dry_run: bool) -> Change | None:
        """Make the change, or say what it would do; None if that is an error, which is in the form."""
        cleaned, kind = self.cleaned_data, self.kind
        number = {kind.argument: cleaned["number"]} if kind.argument else {}
        plain, period = parted(self.scope)
        given = {"scope": plain, "period": period or None, "by": self.by, "reason": cleaned["reason"]}
        try:
            made = getattr(changes, kind.name)(self.alias, **given, **number, dry_run=dry_run)
        except (SequenceError, ValueError) as error:
            self.failure = error if isinstance(error, SequenceError) else None
            self.add_error(None, str(error))
            return None
        change: Change = made[0] if isinstance(made, list) else made
        return change

    def confirms(self, change: Change) -> bool:
        """Whether what was shown before is still what the change would do."""
        return bool(self.cleaned_data["shown"]) and self.cleaned_data["shown"] == self.sight(change)

    def sight(self, change: Change) -> str:
        """What a person confirms: the kind, the number, and how the last value changes if the change moves it."""
        moved = (change.before, change.after) if self.kind.moves else ()
        return " ".join(map(str, (self.kind.name, self.cleaned_data.get("number"), *moved)))

    def asked(self, change: Change) -> Self:
        """The same form for confirming what is shown now."""
        given = {**{name: self.data.get(name, "") for name in self.fields}, "shown": self.sight(change)}
        return type(self)(self.kind, self.alias, self.scope, self.by, given)
