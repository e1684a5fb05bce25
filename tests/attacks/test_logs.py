"""The logs contain scopes, values and errors, but never an item's content, a token or a credential."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from logging.config import DictConfigurator
from typing import Any
from unittest import mock

import pytest
from django.core.management import call_command
from django.test import override_settings

from project.proof.faults.control import Proxy
from project.proof.faults.plans import Rule
from sequences import aput_next, dynamodb, get_last_value, get_next_value, put_next, put_next_many
from sequences.dynamodb.client import Clients
from sequences.exceptions import GaveUp, SequenceError, SequenceWentBack
from sequences.logs import EVENTS, FIELDS, JSONFormatter
from sequences.registry import strategies
from sequences.rest import request_ids
from sequences.strategies import sort_key
from sequences.testing.engines import ENDPOINT, sending_by
from tests.attacks.support import ATTACKED, RESERVING, every_strategy
from tests.sequences.support import SEQUENCES as CONFIGURED
from tests.sequences.support import delete_row, handled, import_row, set_counter, stored, wait_until

CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "AKIANOBODYMAYREADTHIS",
    "AWS_SECRET_ACCESS_KEY": "a-secret-nobody-may-read",
    "AWS_SESSION_TOKEN": "a-session-nobody-may-read",
}
CONTENT = "content nobody may read"
NUMBER = 424242424242
TOKEN = "token nobody may read"
SECRETS = [*CREDENTIALS.values(), CONTENT, str(NUMBER), TOKEN]

FAULTS = [
    *("lose-500", "lose-checksum", "lose-truncated", "drop-close"),
    *("AccessDeniedException", "ThrottlingException", "cancel-ValidationError", "cancel-TransactionConflict"),
]
DEADLINE = 0.05

SEQUENCES: dict[str, dict[str, Any]] = {}
for _name in ATTACKED:
    _entry = SEQUENCES[_name] = CONFIGURED[_name]
    SEQUENCES[f"full-{_name}"] = {**_entry, "MAXIMUM": 1}
    SEQUENCES[f"nowhere-{_name}"] = {**_entry, "TABLE": "no_such_table"}
    SEQUENCES[f"hasty-{_name}"] = {**_entry, "OPTIONS": {**_entry.get("OPTIONS", {}), "deadline": DEADLINE}}


class Records(logging.Handler):
    """Every log record of `sequences` at any level, with all its attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.seen: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.seen.append(record)
        self.texts.append(f"{logging.Formatter().format(record)} {vars(record)!r} {JSONFormatter().format(record)}")

    def assert_silent(self) -> None:
        """Assert that no record contains a secret."""
        assert [text for text in self.texts if any(secret in text for secret in SECRETS)] == []

    def of_values(self, scope: str) -> list[logging.LogRecord]:
        """The records of the values of a scope: a thread of an earlier test may still log one of another scope."""
        return [one for one in list(self.seen) if "value" in vars(one) and vars(one)["scope"] == scope]

    def said(self, words: str) -> bool:
        """Whether a record contains these words."""
        return any(words in text for text in self.texts)


@pytest.fixture
def records(caplog: pytest.LogCaptureFixture) -> Iterator[Records]:
    """The records that `sequences` logs during the test."""
    caplog.set_level(logging.DEBUG, "sequences")
    records, logger = Records(), logging.getLogger("sequences")
    logger.addHandler(records)
    yield records
    logger.removeHandler(records)


@pytest.fixture(scope="module")
def with_credentials(_proxy: Proxy) -> Iterator[None]:
    """Every strategy behind the proxy, with its own credentials and tables; the hasty ones soon give up."""
    configured = override_settings(SEQUENCES=SEQUENCES, TABLE_PREFIX="logs_")
    with mock.patch.dict(os.environ, {**CREDENTIALS, ENDPOINT: _proxy.endpoint}), configured, sending_by(Clients()):
        call_command("create_tables", verbosity=0)
        dynamodb.delete_table(dynamodb.table_name("no_such_table"))
        yield


def item(**more: object) -> dict[str, Any]:
    """An item with secret content."""
    return {"title": CONTENT, "amount": NUMBER, "deep": {"list": [CONTENT.encode(), {CONTENT}]}, **more}


def call_all(name: str, scope: str) -> None:
    """Call every function, and ignore its errors."""
    calls: list[Callable[[], object]] = [
        lambda: put_next(name, item(), scope=scope),
        lambda: put_next(name, item(), scope=scope, idempotency_token=TOKEN),
        lambda: put_next(name, item(other=True), scope=scope, idempotency_token=TOKEN),
        lambda: put_next_many(name, [item(), item()], scope=scope, idempotency_tokens=[TOKEN, f"{TOKEN} too"]),
        lambda: put_next(name, item(token=CONTENT), scope=scope),
        lambda: put_next(name, item(large=CONTENT * 20_000), scope=scope),
        lambda: put_next(name, item(empty=set(), bad=object()), scope=scope, idempotency_token=f"{TOKEN}\n"),
        lambda: put_next(name, item(pk=CONTENT, sk=NUMBER), scope=scope),
        lambda: put_next(name, item(pk=CONTENT, sk=NUMBER), scope=scope),
        lambda: get_last_value(name, scope=scope),
    ]
    if strategies[name].supports_reserve:
        calls += [lambda: get_next_value(name, scope=scope)] * 20
    for call in calls:
        with suppress(SequenceError):
            call()


def stores(name: str, scope: str) -> bool:
    """Whether it stores an item within its deadline."""
    with suppress(SequenceError):
        put_next(name, item(), scope=scope)
        return True
    return False


@every_strategy
def test_puts_and_refusals(with_credentials: None, records: Records, scope: str, name: str) -> None:
    """Puts, repeats and refused items are logged without what is in them."""
    for sequence in (name, f"full-{name}", f"nowhere-{name}"):
        call_all(sequence, scope)
    assert records.said("value 1")
    assert records.said("replayed")
    records.assert_silent()


@every_strategy
def test_failures_and_giving_up(with_credentials: None, proxy: Proxy, records: Records, scope: str, name: str) -> None:
    """Whatever fault a call meets, once or until its deadline, is logged without what was sent."""
    hasty = f"hasty-{name}"
    for fault in FAULTS:
        for count in (1, None):
            proxy.follow(Rule(fault=fault, count=count, seconds=0.2))
            with suppress(SequenceError):
                put_next(hasty, item(), scope=f"{scope} {fault}", idempotency_token=TOKEN if count else None)
            if name in RESERVING:
                with suppress(SequenceError):
                    get_next_value(hasty, scope=f"{scope} {fault}")
    proxy.partition()
    with suppress(SequenceError):
        put_next(hasty, item(), scope=scope, idempotency_token=TOKEN)
    proxy.heal()
    assert records.said("gave up")
    records.assert_silent()


@every_strategy
def test_a_giving_up_is_told(with_credentials: None, proxy: Proxy, records: Records, scope: str, name: str) -> None:
    """Each call that gives up logs a warning, whatever it wanted."""
    hasty = f"hasty-{name}"
    calls: list[Callable[[], object]] = [
        lambda: put_next(hasty, item(), scope=scope),
        lambda: put_next(hasty, item(), scope=scope, idempotency_token=TOKEN),
        lambda: put_next_many(hasty, [item(), item()], scope=scope),
    ]
    if name in RESERVING:
        calls.append(lambda: get_next_value(hasty, scope=scope))
    proxy.follow(Rule(fault="ThrottlingException"))
    for call in calls:
        records.texts.clear()
        with pytest.raises(GaveUp):
            call()
        assert records.said("gave up")
        records.assert_silent()


@every_strategy
def test_repairs(
    with_credentials: None, records: Records, scope: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is noticed of imported and deleted rows, and of counters that were set back, is told without content."""
    if name.startswith("sort-key"):
        put_next_many(name, [item(), item()], scope=scope)
        delete_row(name, scope, max(stored(name, scope)))
        monkeypatch.setattr(sort_key, "TAIL_SECONDS", -1.0)
        with pytest.raises(SequenceWentBack) as error:
            put_next(name, item(), scope=scope)
        records.texts.append(str(error.value))
    else:
        for value in range(1, 10):
            import_row(name, scope, value)
        call_all(name, scope)
        set_counter(name, scope, last_value=1)
        call_all(name, scope)
    assert records.said("sequences recover" if name.startswith("sort-key") else "moved it to")
    records.assert_silent()


@contextmanager
def garbled(status: int) -> Iterator[list[bytes]]:
    """The answer to a write of items is an error page that repeats the request, like a gateway's."""
    sent, pages = [b""], list[bytes]()

    def note(request: Any, **_: object) -> None:
        sent[0] = request.body

    def garble(response_dict: dict[str, Any], **_: object) -> None:
        pages.append(b"<h1>Sorry</h1> you sent " + sent[0])
        response_dict.update(status_code=status, body=pages[-1], headers={})

    handlers: dict[str, Callable[..., None]] = {
        "before-send.dynamodb": note,
        "before-parse.dynamodb.PutItem": garble,
        "before-parse.dynamodb.TransactWriteItems": garble,
    }
    with handled(handlers):
        yield pages


@pytest.mark.parametrize("status", [200, 400, 429, 502])
@pytest.mark.parametrize("name", ["atomic", "sort-key"])
def test_an_answer_that_repeats_the_request(
    with_credentials: None, records: Records, scope: str, name: str, status: int
) -> None:
    """What a gateway says in place of the engine is not logged, as it may hold what was sent."""
    hasty = f"hasty-{name}"
    wait_until(lambda: stores(hasty, scope))  # the first write of a sequence is its rules, which are no secret
    with garbled(status) as pages:
        call_all(hasty, scope)
    assert any(CONTENT.encode() in page for page in pages)
    records.assert_silent()


def test_a_password_in_the_address(
    with_credentials: None, records: Records, scope: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine's address is not logged with the password that it may hold."""
    monkeypatch.setenv(
        "AWS_ENDPOINT_URL_DYNAMODB", f"http://somebody:{CREDENTIALS['AWS_SECRET_ACCESS_KEY']}@127.0.0.1:1"
    )
    strategies.reset()
    with suppress(SequenceError):
        put_next("hasty-sort-key", item(), scope=scope)
    strategies.reset()
    assert records.said("gave up")
    records.assert_silent()


def test_the_names_of_events_and_fields() -> None:
    """Alarms go by these names, which never change."""
    assert set(EVENTS) == {"call_failed", "nearly_used_up", "request_failed"}
    assert (
        *("event", "error", "code", "request_id", "sequence", "scope", "period", "value", "attempts", "replayed"),
        *("write_units", "read_units", "milliseconds", "group_size"),
    ) == FIELDS


def test_json_has_only_what_is_named() -> None:
    """What other libraries put into a record, such as a whole request, stays out of the line; no text forges one."""
    fields = {"request": "/?token=secret", "value": 7, "scope": "AB\u2028C", "path": "a\nb"}
    record = logging.makeLogRecord({"name": "any", "msg": 'said "%s"', "args": ("x\n{}",), "created": 0.0, **fields})
    line = JSONFormatter(fields=["path"]).format(record)
    assert line.splitlines() == [line]
    assert json.loads(line) == {
        "time": "1970-01-01T00:00:00.000+00:00",
        "level": record.levelname,
        "logger": "any",
        "message": 'said "x\n{}"',
        "scope": "AB\u2028C",
        "value": 7,
        "path": "a\nb",
    }


@pytest.mark.parametrize("by", ["()", "class"])
@pytest.mark.parametrize("more", [{}, {"format": "{message}", "style": "{", "datefmt": "%d", "validate": False}])
def test_json_is_configured_as_any_formatter(by: str, more: dict[str, Any]) -> None:
    """LOGGING names it by its class or as a factory, which may have fields; a format changes no line."""
    fields = {"fields": ["path"]} if by == "()" else {}
    formatter = DictConfigurator({}).configure_formatter({by: "sequences.logs.JSONFormatter", **more, **fields})
    record = logging.makeLogRecord({"name": "any", "msg": "said", "created": 0.0, "path": "a", "value": 7})
    line = json.loads(formatter.format(record))
    assert (line["time"], line["message"], line["value"]) == ("1970-01-01T00:00:00.000+00:00", "said", 7)
    assert line.get("path") == ("a" if fields else None)


def test_json_tells_of_an_error() -> None:
    """A trace of the stack is a field of its line."""
    try:
        raise KeyError("ours")
    except KeyError:
        record = logging.LogRecord("any", logging.ERROR, "", 0, "it broke", None, sys.exc_info())
    line = json.loads(JSONFormatter().format(record))
    assert line["level"] == "ERROR"
    assert line["exception"].endswith("KeyError: 'ours'")


@every_strategy
def test_an_allocation_tells_its_cost(with_credentials: None, records: Records, scope: str, name: str) -> None:
    """The line of an allocation has the cost that the caller is told, as text and as fields; a repeat was no group."""
    first, again = [put_next(name, item(), scope=scope, idempotency_token=TOKEN) for _ in range(2)]
    told = records.of_values(scope)
    for record, allocation in zip(told, (first, again), strict=True):
        fields = {field: vars(record)[field] for field in ("sequence", "scope", "value", "attempts", "replayed")}
        assert fields == {field: getattr(allocation, field) for field in fields}
        assert (vars(record)["write_units"], vars(record)["read_units"]) == (
            allocation.write_units,
            allocation.read_units,
        )
        assert vars(record)["milliseconds"] > 0
        assert f"value {allocation.value}, attempts {allocation.attempts}" in record.getMessage()
    assert [vars(record)["group_size"] for record in told] == [1, 0]


def test_an_awaited_allocation_has_the_id_of_its_request(with_credentials: None, records: Records, scope: str) -> None:
    """A thread writes for many awaiting callers; what it logs for each has the id of that caller's request."""

    async def call(request_id: str) -> int:
        request_ids._current.set(request_id)
        return (await aput_next("sort-key", item(), scope=scope)).value

    async def call_all() -> list[int]:
        return await asyncio.gather(*(call(f"request-{number}") for number in range(9)))

    records.addFilter(request_ids.RequestIdFilter())
    values = asyncio.run(call_all())

    def told() -> dict[int, str]:
        return {vars(record)["value"]: vars(record)["request_id"] for record in records.of_values(scope)}

    wait_until(lambda: len(told()) == len(values))  # a caller may have its answer before the line is written
    assert told() == {value: f"request-{number}" for number, value in enumerate(values)}
