"""A permission for each kind of guarded change, for audits and for exports."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("sequences", "0003_take_permission")]

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
                    ("audit_sequence", "Can audit a scope"),
                    ("export_sequence", "Can export the numbers of a scope"),
                ),
                "base_manager_name": "objects",
            },
        ),
    ]
