"""The forms of orders and invoices. How a form shows what a service refuses is in `tickets.forms`."""

from collections.abc import Iterator, Mapping
from typing import Any, Self

from django import forms
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from tickets.forms import KeyField, OnceForm, ServiceForm, VersionedForm
from tickets.sales import validators
from tickets.sales.types import Company, Order
from tickets.types import Page

CELLS = tuple(validators.LINE)
FEWEST_ROWS = 5
EMPTY_ROWS = 3
TEXTS = "INV-{scope}-{period}-{value:06d}-{check:damm}"  # what a new company has unless other texts are typed


class LineInputs(forms.Widget):
    """A row of inputs for each line, and some empty ones."""

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> list[dict[str, str]]:
        """What was typed, row by row."""
        return [dict(zip(CELLS, row, strict=True)) for row in self._rows(data, name)]

    def _rows(self, data: Mapping[str, Any], name: str) -> Iterator[tuple[str, ...]]:
        for index in range(validators.MOST_LINES + EMPTY_ROWS):
            row = tuple(data.get(f"{name}-{index}-{cell}", "") for cell in CELLS)
            if any(text.strip() for text in row):
                yield row

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        """The rows that were typed, and empty ones below."""
        typed = list(value or ())
        shown = min(max(len(typed) + EMPTY_ROWS, FEWEST_ROWS), validators.MOST_LINES)
        rows = typed + [{}] * (shown - len(typed))
        described_by = (attrs or {}).get("aria-describedby")
        content = {"name": name, "rows": rows, "described_by": described_by}
        return render_to_string("tickets/sales/line_inputs.html", content)

    def id_for_label(self, id_: str) -> str:
        """The first input of the first row."""
        return f"{id_}-0-{CELLS[0]}"


class LinesField(forms.Field):
    """The lines of an order."""

    widget = LineInputs

    def to_python(self, value: Any) -> list[dict[str, Any]]:
        """The lines that were typed, with their quantities as numbers."""
        return [
            {**line, "quantity": validators.typed_number(line["quantity"]), "price": line["price"].strip()}
            for line in value
        ]


class OrderForm(OnceForm):
    """A new order."""

    validated_by = validators.ORDER
    customer = forms.CharField(required=False, widget=forms.TextInput({"required": True, "autofocus": True}))
    lines = LinesField(required=False)


class IssueForm(VersionedForm, OnceForm):
    """The date of an invoice that is issued from the draft that was read."""

    validated_by = validators.ISSUE
    current_template = "tickets/sales/current.html"
    date = forms.CharField(
        required=False, empty_value=None, label="Date of the invoice", widget=forms.TextInput({"type": "date"})
    )
    company = KeyField(required=False, widget=forms.HiddenInput)  # seen where there is more than one

    @classmethod
    def for_draft(cls, order: Order) -> "IssueForm":
        """The form for a draft, with the date of today."""
        return cls(initial={"date": validators.today().isoformat(), "version": order.version})

    def offer(self, companies: Page[Company]) -> Self:
        """Ask which company it is: one of a list, or where they are too many for one page, by its key."""
        if companies.next_cursor:
            self.fields["company"].widget = forms.TextInput({"autocapitalize": "characters"})
        elif companies.results:
            choices = [("", "The main company"), *((one.key, f"{one.key} {one.name}") for one in companies.results)]
            self.fields["company"].widget = forms.Select(choices=choices)
            self.fields["company"].help_text = ""
        return self


class CompanyForm(ServiceForm):
    """A new company, and the texts of its invoices."""

    validated_by = validators.COMPANY
    key = KeyField(
        required=False, widget=forms.TextInput({"required": True, "autofocus": True, "autocapitalize": "characters"})
    )
    name = forms.CharField(required=False, widget=forms.TextInput({"required": True}))
    format = forms.CharField(
        required=False,
        label="Texts",
        initial=TEXTS,
        widget=forms.TextInput({"required": True, "autocapitalize": "none"}),
        help_text="{scope} is the key, {period} the year, and {value:06d} the number with six digits.",
    )
    start = forms.CharField(
        required=False, label="First number", initial="1", widget=forms.TextInput({"inputmode": "numeric"})
    )

    def clean_start(self) -> Any:
        """The number that was typed."""
        return validators.typed_number(self.cleaned_data["start"])


class InvoiceVoidForm(ServiceForm):
    """The reason for voiding an invoice."""

    validated_by = validators.VOID
    reason = forms.CharField(required=False, label="Why?", widget=forms.Textarea({"rows": 3, "required": True}))
