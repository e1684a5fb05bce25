"""A state machine of tickets under faults: after every step the table agrees with the model.

Hypothesis chooses the steps: tickets are filed, repeated and voided, the clock moves past the expiry of markers,
answers are lost, requests are refused, the engine is killed, and the application loses its memory. The model is a list
of tickets for each project. It does not know how the product works.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import ClassVar
from urllib.parse import urlsplit

import pytest
from django.core.management import call_command
from django.test import override_settings
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from project.proof.faults.control import Proxy, proxy_before
from project.proof.faults.elsewhere import impatient
from project.proof.faults.plans import CUTS, LOSSES, Rule
from project.settings import base
from sequences import dynamodb
from sequences.exceptions import IdempotencyMismatch, SequenceError
from sequences.registry import strategies
from sequences.testing.embedded import Engine
from tests.kept_tables import ask
from tickets import project_services, services
from tickets.types import TicketKey, TicketStored

PREFIX = "machine_"
DAY_SECONDS = 24 * 3600
MARKER_DAYS = 7
HEALING = [*LOSSES, *CUTS, "InternalServerError", "ThrottlingException", "cancel-TransactionConflict"]
PERSON = "ada"

projects = st.integers(0, 1)
titles = st.sampled_from(["a leak", "smoke"])
marked = st.booleans()
faults = st.builds(
    Rule,
    fault=st.sampled_from(HEALING),
    skip=st.integers(0, 2),
    count=st.integers(1, 2),
    seconds=st.just(0.2),
)


@dataclass
class Told:
    """One ticket of the model."""

    title: str
    reason: str | None = None


@dataclass
class Request:
    """One request with a token: its ticket, if it has one, and the day on which it was carried out."""

    token: str
    title: str
    project: int
    day: int = 0
    number: int | None = None


class World:
    """The surroundings of the product: the engine, the proxy before it, and the clock."""

    def __init__(self, engine: Engine, proxy: Proxy) -> None:
        self.engine = engine
        self.proxy = proxy
        self.day = 0
        self.runs = 0

    def forget(self) -> None:
        """Restart the application: its memory is lost."""
        strategies.reset()
        strategies["tickets"].markers.wall = lambda: time.time() + self.day * DAY_SECONDS

    def rows(self, *projects: str) -> list[dict[int, Told]]:
        """The stored tickets of each project, read from the engine."""
        self.proxy.settle()
        with closing(HTTPConnection(urlsplit(self.engine.endpoint).netloc)) as connection:  # it may be another engine
            return [self._rows(connection, project) for project in projects]

    def _rows(self, connection: HTTPConnection, project: str) -> dict[int, Told]:
        request = {
            "TableName": f"{PREFIX}tickets",
            "KeyConditionExpression": "pk = :project AND sk > :zero",
            "ExpressionAttributeValues": {":project": {"S": project}, ":zero": {"N": "0"}},
            "ConsistentRead": True,
        }
        items = [dynamodb.unmarshal(item) for item in ask(connection, "Query", request)["Items"]]
        return {item["sk"]: Told(item.get("title", ""), item.get("void", {}).get("reason")) for item in items}


class Tickets(RuleBasedStateMachine):
    """Creates, repeats, voids, clock moves and crashes, in two projects that are new in every run."""

    world: ClassVar[World]
    requests = Bundle[Request]("requests")

    def __init__(self) -> None:
        super().__init__()
        self.world.runs += 1
        self.world.proxy.calm()
        self.world.forget()
        self.keys = [f"{name}{self.world.runs}" for name in ("AA", "BB")]
        self.model: list[dict[int, Told]] = [{}, {}]
        self.tokens = 0
        for key in self.keys:
            project_services.create_project(key=key, name=key, by=PERSON)

    def new_request(self, project: int, title: str) -> Request:
        """A request with a new token."""
        self.tokens += 1
        return Request(f"request {self.tokens}", title, project)

    def send(self, request: Request, *, title: str | None = None, token: bool = True) -> TicketStored:
        """File a ticket for this request."""
        return services.create_ticket(
            self.keys[request.project],
            title=title or request.title,
            reporter=PERSON,
            idempotency_token=request.token if token else None,
        )

    def note(self, request: Request, number: int) -> None:
        """The request's ticket is the next one of the model."""
        tickets = self.model[request.project]
        assert number == len(tickets) + 1
        tickets[number] = Told(request.title)
        request.number, request.day = number, self.world.day

    def file_new(self, project: int, title: str) -> Request:
        """Add a new request and its ticket, the next one, to the model."""
        request = self.new_request(project, title)
        filed = self.send(request)
        assert not filed.replayed
        self.note(request, filed.ticket.number)
        return request

    @contextmanager
    def under(self, *rules: Rule) -> Iterator[None]:
        """Let the proxy follow these rules during the block."""
        self.world.proxy.follow(*rules)
        yield
        self.world.proxy.calm()

    @rule(target=requests, project=projects, title=titles)
    def create(self, project: int, title: str) -> Request:
        """A new request gets the next number."""
        return self.file_new(project, title)

    @rule(project=projects, title=titles, fault=faults)
    def create_without_token(self, project: int, title: str, fault: Rule) -> None:
        """A new request without a token gets the next number, whatever fault hits it."""
        request = self.new_request(project, title)
        with self.under(fault):
            self.note(request, self.send(request, token=False).ticket.number)

    @rule(target=requests, project=projects, title=titles, fault=faults)
    def create_under_fault(self, project: int, title: str, fault: Rule) -> Request:
        """A new request with a token gets the next number, whatever fault hits it."""
        with self.under(fault):
            return self.file_new(project, title)

    @rule(target=requests, project=projects, title=titles, fault=faults)
    def create_and_fail(self, project: int, title: str, fault: Rule) -> Request:
        """A request that ended with an error has either the next ticket of its project or none."""
        request = self.new_request(project, title)
        with self.under(fault, Rule(fault="AccessDeniedException", skip=fault.skip)):
            try:
                self.send(request)
            except SequenceError:
                pass
        number = len(self.model[project]) + 1
        if number in self.world.rows(self.keys[project])[0]:
            self.note(request, number)
        return request

    @rule(request=requests, fault=faults)
    def repeat(self, request: Request, fault: Rule) -> None:
        """A repeat returns the same ticket until its marker expires. Without a marker it returns a new ticket."""
        with self.under(fault):
            filed = self.send(request)
        assert filed.replayed == self.is_remembered(request)
        if filed.replayed:
            assert filed.ticket.number == request.number
            assert filed.ticket.title == self.model[request.project][filed.ticket.number].title
        else:
            self.note(request, filed.ticket.number)

    def is_remembered(self, request: Request) -> bool:
        """Whether the marker of this request has not expired."""
        return request.number is not None and self.world.day - request.day < MARKER_DAYS

    @rule(request=requests)
    def reuse_token(self, request: Request) -> None:
        """A token that is remembered is refused for another ticket."""
        if self.is_remembered(request):
            with pytest.raises(IdempotencyMismatch):
                self.send(request, title="something else")

    @rule(request=requests, reason=st.sampled_from(["a duplicate", ""]), fault=faults)
    def void(self, request: Request, reason: str, fault: Rule) -> None:
        """A voided ticket keeps its number and its reason, and loses its content. It stays void."""
        if request.number is None:
            return
        key = TicketKey(project=self.keys[request.project], number=request.number)
        with self.under(fault):
            services.void_ticket(key, by=PERSON, reason=reason)
        told = self.model[request.project][request.number]
        if told.reason is None:
            self.model[request.project][request.number] = Told("", reason)

    @rule(days=st.sampled_from([3, 5]))
    def move_clock(self, days: int) -> None:
        """Time passes. No sum of these days is exactly the time at which a marker expires."""
        self.world.day += days

    @rule()
    def crash_engine(self) -> None:
        """The engine is killed, and starts again with its file."""
        self.world.engine.restart()

    @rule()
    def crash_application(self) -> None:
        """The application restarts without its memory."""
        self.world.forget()

    @invariant()
    def table_agrees_with_model(self) -> None:
        """The table and the model have the same numbers, titles and reasons."""
        assert self.world.rows(*self.keys) == self.model


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """An engine with a file, a proxy before it, and the product."""
    with (
        Engine(tmp_path_factory.mktemp("machine") / "engine.db") as engine,
        proxy_before(engine.endpoint) as proxy,
        override_settings(SEQUENCES=base.SEQUENCES, TABLE_PREFIX=PREFIX),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("AWS_ENDPOINT_URL_DYNAMODB", proxy.endpoint)
        strategies.reset()
        call_command("create_tables", verbosity=0)  # patiently: to make a table may take long
        with override_settings(SEQUENCES_CLIENTS=impatient()):
            strategies.reset()
            yield World(engine, proxy)
    strategies.reset()


@pytest.mark.needs_engine
def test_model_and_table_agree_at_every_step(world: World) -> None:
    """Whatever happens in whatever order, the model and the table agree after every step."""
    Tickets.world = world
    few = settings(
        max_examples=12,
        stateful_step_count=25,
        deadline=None,
        database=None,
        phases=[Phase.generate],  # a failure prints its steps; finding a shorter failure would take minutes
        suppress_health_check=[HealthCheck.too_slow],
    )
    run_state_machine_as_test(Tickets, settings=few)
