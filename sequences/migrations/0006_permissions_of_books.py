"""Permissions to close the books of a period, and to open them again."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("sequences", "0005_permission_of_rules")]

    operations = [
        migrations.AlterModelOptions(
            name="sequence",
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
