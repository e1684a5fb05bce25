"""The permission `sequences.change_sequence`, for guarded changes."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("sequences", "0001_initial")]

    operations = [
        migrations.AlterModelOptions(
            name="sequence",
            options={
                "managed": False,
                "default_permissions": ("view", "change"),
                "base_manager_name": "objects",
            },
        ),
    ]
