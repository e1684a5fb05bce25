"""The policy of the web processes is enough for all that they do, and the alarms hear what goes wrong in them."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings
from rest_framework.test import APIClient

from project.logs import ACCESS
from sequences import dynamodb
from sequences.logs import JSONFormatter
from sequences.ops.deployment import template
from tests.sequences.ops.test_deployment import counted
from tests.tickets.sales.support import issued
from tickets import moves, project_services, selectors, services
from tickets.access import members
from tickets.timeline.services import add_comment
from tickets.types import Project, TicketKey

KINDS = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem"}
Asked = tuple[str, str, str]


def asked_for(operation: str, request: Mapping[str, Any]) -> Iterator[Asked]:
    """What a request needs permission for: actions, each on a table and a partition."""
    if operation == "transact_write_items":
        for one in request["TransactItems"]:
            ((kind, about),) = one.items()
            yield KINDS[kind], about["TableName"], partition_of(about)
    elif operation == "batch_get_item":
        yield from (("BatchGetItem", table, "") for table in request["RequestItems"])
    else:
        yield "".join(map(str.title, operation.split("_"))), request["TableName"], partition_of(request)


def partition_of(about: Mapping[str, Any]) -> str:
    """The partition of the row that an action is about; empty for a query."""
    row = about.get("Key") or about.get("Item") or {}
    return next((str(row[name]["S"]) for name in ("pk", "sequence") if name in row), "")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> set[Asked]:
    """What the application needs permission for from now on."""
    call, found = dynamodb.call, set[Asked]()

    def note(operation: str, request: Mapping[str, Any], **limits: Any) -> dict[str, Any]:
        found.update(asked_for(operation, request))
        return call(operation, request, **limits)

    monkeypatch.setattr(dynamodb, "call", note)
    return found


def allowed(one: Asked) -> bool:
    """Whether the policy of web processes allows this."""
    action, table, partition = one
    policy = template()["Resources"]["WebPolicy"]["Properties"]["PolicyDocument"]
    for statement in policy["Statement"]:
        if statement.get("Effect") != "Allow" or f"dynamodb:{action}" not in statement["Action"]:
            continue
        places = statement.get("Condition", {}).get("ForAllValues:StringLike", {}).get("dynamodb:LeadingKeys", ["*"])
        if _names(statement["Resource"], table) and any(fnmatchcase(partition, place) for place in places):
            return True
    return False


def _names(resources: Any, table: str) -> bool:
    """Whether the resources of a statement have a table, by the end of its name."""
    arns = resources if isinstance(resources, list) else [resources]
    return any(table.endswith(arn["Fn::GetAtt"][0].removesuffix("Table").lower()) for arn in arns)


@pytest.mark.django_db
def test_the_policy_is_enough(tables: str, asked: set[Asked]) -> None:
    """Everything that people do with projects, tickets, comments, orders and invoices is allowed."""
    User.objects.create(username="ben")
    for key in ("ABC", "XYZ"):
        project_services.create_project(key=key, name=key, by="ann")
    members.set_member("ABC", "ben", role="reporter", by="ann")
    members.remove_member("ABC", "ben", by="ann")
    for opening in ("no", "file"):
        project_services.update_project("ABC", changes={"open": opening}, by="ann")
    for title in ("First", "Second"):
        services.create_ticket("ABC", title=title, reporter="ann", idempotency_token=title)
    first, second = (TicketKey(project="ABC", number=number) for number in (1, 2))
    add_comment(first, text="See ABC-2", by="ann")
    services.update_ticket(first, version=None, changes={"status": "done"}, by="ann")
    moves.move_ticket(first, to="XYZ", by="ann")
    services.void_ticket(second, reason="Twice", by="ann")
    services.restore_ticket(second, by="ann")
    selectors.list_tickets("ABC")
    selectors.find_mentioned([first, second], "ann")
    issued()
    actions = {action for action, _, _ in asked}
    assert actions >= {"BatchGetItem", "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"}
    assert [one for one in asked if not allowed(one)] == []


@pytest.mark.parametrize("partition", ["ABC", "ABC#", "#projects", "#renames", "tickets", "sequences"])
@pytest.mark.parametrize("table", ["tickets", "sales", "sequences"])
def test_nothing_that_has_a_number_is_deleted(table: str, partition: str) -> None:
    """A ticket, an invoice, a counter or a project cannot be deleted, by whatever fault of the code."""
    assert not allowed(("DeleteItem", table, partition))
    assert allowed(("UpdateItem", table, partition))


def test_a_failed_request_is_counted_once_for_each_alarm(
    api: APIClient, abc: Project, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """Its lines count for the alarm about the cause and for failed requests; what a client does wrong is no failure."""
    assert api.get("/api/tickets/ABC-7/").status_code == 404
    assert counted_in(caplog) == ["Requests"]
    caplog.clear()
    settings.TABLE_PREFIX = "nowhere_"
    assert api.post("/api/projects/ABC/tickets/", {"title": "x"}).status_code == 503
    assert counted_in(caplog) == ["FailedRequests", "Refused", "Requests"]


def counted_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The metrics for which the lines count, as the sample writes them in production, each time that they do."""
    lines = [JSONFormatter(fields=ACCESS).format(record) for record in caplog.records]
    return sorted(name for line in lines for name in counted(line))
