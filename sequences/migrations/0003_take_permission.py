"""The permission `sequences.take_value`, for values without items over REST."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("sequences", "0002_change_permission")]

    operations = [
        migrations.AlterModelOptions(
            name="sequence",
            options={
                "managed": False,
                "default_permissions": ("view", "change"),
                "permissions": (("take_value", "Can take values without items"),),
                "base_manager_name": "objects",
            },
        ),
    ]
