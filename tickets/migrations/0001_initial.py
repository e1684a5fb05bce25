from typing import Any

from django.db import migrations, models

ID = models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")
OF_INVOICES = (("issue_invoice", "Can issue invoice"), ("void_invoice", "Can void invoice"))


def unmanaged(name: str, *permissions: str, **options: Any) -> migrations.CreateModel:
    """A model without a table: whatever it says, nothing is to be done in the database."""
    about = {"managed": False, "default_permissions": permissions, **options}
    return migrations.CreateModel(name=name, fields=[("id", ID)], options=about)


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    operations = [
        unmanaged("Ticket", "view"),
        unmanaged("Project", "add", abstract=False),
        unmanaged("Order", "view", "add", abstract=False),
        unmanaged("Invoice", "view", "add", abstract=False, permissions=OF_INVOICES),
    ]
