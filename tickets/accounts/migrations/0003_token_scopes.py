from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0002_former_tokens_and_cache"),
    ]

    operations = [
        migrations.AddField("apitoken", "read_only", models.BooleanField(default=False)),
        migrations.AddField("apitoken", "project", models.CharField(blank=True, default="", max_length=10)),
    ]
