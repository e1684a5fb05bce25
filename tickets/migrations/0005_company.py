from django.db import migrations, models

ID = models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


class Migration(migrations.Migration):
    dependencies = [("tickets", "0004_known_table")]
    operations = [
        migrations.CreateModel(
            name="Company",
            fields=[("id", ID)],
            options={"managed": False, "default_permissions": ("add",), "abstract": False},
        ),
    ]
