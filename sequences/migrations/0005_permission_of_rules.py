"""A permission for the rules of single scopes."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("sequences", "0004_permissions_of_changes")]

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
                    ("void_sequence", "Can make a number void"),
                    ("series_sequence", "Can change the rules of a scope"),
                    ("audit_sequence", "Can audit a scope"),
                    ("export_sequence", "Can export the numbers of a scope"),
                ),
                "base_manager_name": "objects",
            },
        ),
    ]
