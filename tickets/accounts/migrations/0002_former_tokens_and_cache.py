"""Takes over the tokens of the REST framework's app, and makes the table of the cache.

The tokens keep working for a year. Their table is removed, because it has their secrets in clear.
"""

import hashlib
from datetime import timedelta
from typing import Any

from django.core.management import call_command
from django.db import migrations
from django.utils import timezone

FORMER = "authtoken_token"


def take_over(apps: Any, schema_editor: Any) -> None:
    """Store the digest of each token."""
    connection = schema_editor.connection
    if FORMER not in connection.introspection.table_names():
        return
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {connection.ops.quote_name('key')}, user_id FROM {FORMER}")
        rows = cursor.fetchall()
    now, model = timezone.now(), apps.get_model("accounts", "ApiToken")
    model.objects.using(connection.alias).bulk_create(
        model(
            user_id=user_id,
            name="Made before tokens had names",
            digest=hashlib.sha256(key.encode()).hexdigest(),
            created_at=now,
            expires_at=now + timedelta(days=365),
        )
        for key, user_id in rows
    )
    schema_editor.execute(f"DROP TABLE {FORMER}")


def make_cache_table(apps: Any, schema_editor: Any) -> None:
    """Make the tables of the caches in this database, where they are missing."""
    call_command("createcachetable", database=schema_editor.connection.alias, verbosity=0)


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0001_api_tokens"),
    ]

    operations = [
        migrations.RunPython(take_over, migrations.RunPython.noop),
        migrations.RunPython(make_cache_table, migrations.RunPython.noop),
    ]
