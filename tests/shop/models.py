"""Rows that are numbered before they are saved, and rows that are numbered when they are committed."""

from django.db import models

from sequences.fields import SequenceField, SequenceTextField


class Order(models.Model):
    """A row that needs its number at once."""

    customer = models.CharField(max_length=100)
    number = SequenceField(sequence="orders", unique=True)

    def __str__(self) -> str:
        return f"order {self.number}"


class Delivery(models.Model):
    """A row that is numbered within its order: 1, 2, 3 for each."""

    order = models.ForeignKey(Order, models.CASCADE)
    number = SequenceField(sequence="deliveries", scope="order")

    class Meta:  # noqa: D106 - Django's model options
        constraints = [models.UniqueConstraint(fields=["order", "number"], name="delivery_number")]

    def __str__(self) -> str:
        return f"delivery {self.number}"


class Invoice(models.Model):
    """A row that must have no gap before it: it is numbered when it is committed."""

    customer = models.CharField(max_length=100)
    number = SequenceField(sequence="invoices", on_commit=True, unique=True)

    def __str__(self) -> str:
        return f"invoice {self.number}"


class CreditNote(Invoice):
    """An invoice in a table of its own, with a number of its parent."""

    reason = models.CharField(max_length=100)


class Reminder(Invoice):
    """An invoice by another name."""

    class Meta:  # noqa: D106 - Django's model options
        proxy = True


def year_of(receipt: "Receipt") -> str:
    """The scope of a receipt."""
    return str(receipt.day.year)


class Receipt(models.Model):
    """A row that is numbered within its year, when it is committed."""

    day = models.DateField()
    number = SequenceField(sequence="receipts", scope=year_of, on_commit=True)

    class Meta:  # noqa: D106 - Django's model options
        constraints = [models.UniqueConstraint("day__year", "number", name="receipt_number")]

    def __str__(self) -> str:
        return f"receipt {self.number}"


class Contract(models.Model):
    """A row whose text begins with its year, and comes with the number."""

    signed_on = models.DateField()
    number = SequenceField(sequence="contracts", date="signed_on")
    number_text = SequenceTextField(of="number")

    def __str__(self) -> str:
        return f"contract {self.number_text}"


class Statement(models.Model):
    """A row whose number and text follow the commit."""

    made_at = models.DateTimeField(auto_now_add=True)
    text = SequenceTextField(of="number")
    number = SequenceField(sequence="bills", on_commit=True)

    def __str__(self) -> str:
        return f"statement {self.text}"


class Bill(models.Model):
    """A draft, until it is issued."""

    customer = models.CharField(max_length=100)
    issued_on = models.DateField(null=True)
    number = SequenceField(sequence="bills", date="issued_on", assign="manual")
    number_text = SequenceTextField(of="number")

    def __str__(self) -> str:
        return self.number_text or "a draft"
