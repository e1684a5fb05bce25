"""The command that loads samples."""

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from tests.sequences.support import written
from tickets import selectors
from tickets.sales import selectors as sales
from tickets.sales.types import State
from tickets.types import Project


def test_samples_are_loaded_once(tables: str) -> None:
    """Three projects with some twenty tickets come into an empty store; again, nothing happens."""
    for _ in range(2):
        call_command("load_samples", verbosity=0)
        keys = [project.key for project in selectors.list_projects().results]
        assert len(keys) == 3
        tickets = [ticket for key in keys for ticket in selectors.list_tickets(key).results]
        assert len(tickets) == 20
        assert {ticket.status for ticket in tickets} == {"open", "in_progress", "done", "void"}


def test_nothing_is_loaded_beside_other_projects(abc: Project) -> None:
    """Where there is a project, sample projects stay away; where there is no order, sample orders come."""
    assert written("load_samples") == "0 projects and 6 orders loaded.\n"
    assert selectors.list_projects().results == (abc,)


def test_a_missing_table_is_said(tables: str, settings: Settings) -> None:
    """Without tables the command says what to do."""
    settings.TABLE_PREFIX = "nowhere_"
    with pytest.raises(CommandError, match="create_tables"):
        call_command("load_samples", verbosity=0)


def test_sample_orders_are_loaded_once(tables: str) -> None:
    """Orders with drafted, issued and void invoices come into an empty store; again, nothing happens."""
    for _ in range(2):
        call_command("load_samples", verbosity=0)
        orders = sales.list_orders().results
        assert len(orders) == 6
        assert {order.state for order in orders} == set(State)
        assert [len(order.voided) for order in orders if order.voided] == [1]
