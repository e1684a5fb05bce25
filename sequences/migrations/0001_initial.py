"""The model without rows that has the permissions, such as `sequences.view_sequence`; no database has its table."""

from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Sequence",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
            ],
            options={
                "managed": False,
                "default_permissions": ("view", "change"),
                "permissions": (
                    ("take_value", "Can take values without items"),
                    ("advance_sequence", "Can advance a scope"),
                    ("seed_sequence", "Can seed a scope"),
                    ("recover_sequence", "Can recover a scope"),
                    ("freeze_sequence", "Can freeze a scope"),
                    ("thaw_sequence", "Can thaw a scope"),
                    ("close_sequence", "Can close the books of a period"),
                    ("reopen_sequence", "Can open closed books again"),
                    ("void_sequence", "Can make a number void"),
                    ("series_sequence", "Can change the rules of a scope"),
                    ("audit_sequence", "Can audit a scope"),
                    ("export_sequence", "Can export the numbers of a scope"),
                ),
                "base_manager_name": "objects",
            },
        ),
    ]
