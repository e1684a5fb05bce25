"""The tokens of the REST framework's app, which the site used before."""

import importlib

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from rest_framework.test import APIClient

from tickets.accounts.models import ApiToken

migration = importlib.import_module("tickets.accounts.migrations.0002_former_tokens_and_cache")
KEY = "0123456789abcdef0123456789abcdef01234567"


class Editor:
    """What the migration uses of Django's editor, which SQLite refuses inside the transaction of a test."""

    connection = connection

    def execute(self, statement: str) -> None:
        """Run a statement."""
        with connection.cursor() as cursor:
            cursor.execute(statement)


@pytest.mark.django_db
def test_former_tokens_keep_working(ann: User) -> None:
    """A token from before opens the API, now has an end, and its table with the secrets in clear is gone."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE authtoken_token (key varchar(40) PRIMARY KEY, created datetime, user_id integer)")
        cursor.execute("INSERT INTO authtoken_token VALUES (%s, %s, %s)", [KEY, "2025-01-01", ann.pk])
    migration.take_over(apps, Editor())
    assert APIClient(headers={"Authorization": f"Token {KEY}"}).get("/api/auth/tokens/").status_code == 200
    token = ApiToken.objects.get()
    assert token.expires_at
    assert (token.expires_at - token.created_at).days == 365
    assert "authtoken_token" not in connection.introspection.table_names()


@pytest.mark.django_db
def test_a_new_database_has_no_former_tokens() -> None:
    """Without that table there is nothing to do."""
    migration.take_over(apps, Editor())
    assert not ApiToken.objects.exists()


@pytest.mark.django_db
def test_the_cache_has_its_table() -> None:
    """After the migrations the cache works, and making its table again changes nothing."""
    cache.set("x", 1)
    migration.make_cache_table(apps, Editor())
    assert cache.get("x") == 1
