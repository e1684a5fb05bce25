"""Several clients: each sequence reaches its tables by the client that its configuration names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from django.core.management import call_command
from moto import mock_aws
from pytest_django import Settings

from sequences import dynamodb, get_last_value, get_next_value, put_next
from sequences.dynamodb.configuration import client_options
from sequences.exceptions import InvalidSequence, NotConfigured, SequenceUnavailable
from sequences.ops.audit import audit
from sequences.ops.checks import check_sequences
from sequences.registry import strategies
from sequences.testing.embedded import Engine
from tests.sequences.support import asked_of_boto3

COUNTER = {"STRATEGY": "sequences.strategies.atomic.AtomicCounter"}
ROLE = "arn:aws:iam::123456789012:role/numbers"
SORT_KEY = {"STRATEGY": "sequences.strategies.sort_key.SortKeyMaximum"}


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Engine]:
    """A second engine."""
    with Engine() as engine:
        yield engine


@pytest.fixture
def two(endpoint: str, elsewhere: Engine, table_prefix: str, settings: Settings) -> None:
    """The same sequences on two engines, with tables of the same names."""
    settings.SEQUENCES_CLIENTS = {"far": {"ENDPOINT": elsewhere.endpoint, "REGION": "eu-north-1"}}
    settings.SEQUENCES = {
        "here": COUNTER,
        "there": {**COUNTER, "CLIENT": "far"},
        "items-here": SORT_KEY,
        "items-there": {**SORT_KEY, "CLIENT": "far"},
    }
    call_command("create_tables", verbosity=0)


def rows(endpoint: str, table: str) -> int:
    """How many rows a table has on an engine."""
    client = boto3.client("dynamodb", endpoint_url=endpoint)
    return int(client.scan(TableName=dynamodb.table_name(table))["Count"])


@pytest.mark.usefixtures("two")
@pytest.mark.needs_engine
class TestTwoEngines:
    def test_each_has_its_own(self, endpoint: str, elsewhere: Engine) -> None:
        """Counters, items and markers of a sequence are where its client leads, and nowhere else."""
        assert [get_next_value("there", idempotency_token=f"{n}") for n in range(3)] == [1, 2, 3]
        assert [put_next("items-there", {}, scope="a").value for _ in range(2)] == [1, 2]
        assert (rows(endpoint, "sequences"), rows(endpoint, "sequence_items")) == (0, 0)
        assert (rows(elsewhere.endpoint, "sequences"), rows(elsewhere.endpoint, "sequence_items")) == (4, 7)
        assert get_next_value("here") == 1

    def test_reads_go_there_too(self) -> None:
        """The last value, the list of counters and the audit are read by the client of the sequence."""
        for _ in range(3):
            put_next("there", {})
        assert (get_last_value("there"), get_last_value("here")) == (3, None)
        assert [counter.last_value for counter in strategies["there"].scopes.page(None, 10)[0]] == [3]
        report = audit(strategies["there"], None)
        assert (report.last_value, report.missing) == (3, 0)

    def test_an_engine_that_is_away(self, settings: Settings, install_hasty: None) -> None:
        """If the engine of one client is away, the sequences of the others go on."""
        with pytest.raises(SequenceUnavailable):
            get_next_value("away")
        assert get_next_value("here") == 1

    @pytest.fixture
    def install_hasty(self, settings: Settings) -> None:
        """A sequence whose engine is away, and which does not wait long for it."""
        away = {**COUNTER, "CLIENT": "away", "OPTIONS": {"deadline": 0.2}}
        settings.SEQUENCES_CLIENTS = {**settings.SEQUENCES_CLIENTS, "away": {"ENDPOINT": "http://127.0.0.1:1"}}
        settings.SEQUENCES = {**settings.SEQUENCES, "away": away}

    def test_tables_are_named_with_their_clients(self, capsys: pytest.CaptureFixture[str]) -> None:
        """`create_tables` says by which client it has found a table."""
        call_command("create_tables")
        said = capsys.readouterr().out.replace(dynamodb.table_name(""), "").splitlines()
        assert sorted(said) == [
            "sequence_items of client far: exists",
            "sequence_items: exists",
            "sequences of client far: exists",
            "sequences: exists",
        ]


class TestOptions:
    @pytest.mark.parametrize(
        ("entry", "words"),
        [
            ([], r" must be a dict\."),
            ({"region": "eu"}, r": unknown key 'region'; known are CONNECT_TIMEOUT, ENDPOINT, .*, ROLE\."),
            ({"REGION": ""}, r"\['REGION'\] is ''; it must be a text, or None for what the environment says\."),
            ({"READ_TIMEOUT": 0}, r"\['READ_TIMEOUT'\] is 0; it must be a number of seconds above 0\."),
            ({"READ_TIMEOUT": True}, r"\['READ_TIMEOUT'\] is True; it must be a number of seconds above 0\."),
            ({"POOL_SIZE": 1.5}, r"\['POOL_SIZE'\] is 1.5; it must be a whole number above 0\."),
            ({"LEAN": 1}, r"\['LEAN'\] is 1; it must be True or False\."),
            ({"EXTERNAL_ID": "shop"}, r"\['EXTERNAL_ID'\] needs a ROLE, whose owner asks for it\."),
        ],
    )
    def test_wrong_ones(self, settings: Settings, entry: Any, words: str) -> None:
        """A wrong entry is refused by its key, and the check reports it."""
        settings.SEQUENCES_CLIENTS = {"eu": entry}
        with pytest.raises(InvalidSequence, match=rf"^SEQUENCES_CLIENTS\['eu'\]{words}$"):
            dynamodb.client_options("eu")
        assert "sequences.E002" in [message.id for message in check_sequences()]

    def test_clients_that_are_no_dict(self, settings: Settings) -> None:
        """A setting that is no dict is refused."""
        settings.SEQUENCES_CLIENTS = ["eu"]
        with pytest.raises(InvalidSequence, match="SEQUENCES_CLIENTS must be a dict"):
            dynamodb.clients()

    def test_a_client_that_is_not_there(self, settings: Settings) -> None:
        """A sequence whose client is not configured is refused, with the clients that are."""
        settings.SEQUENCES_CLIENTS = {"eu": {}}
        settings.SEQUENCES = {"a": {**COUNTER, "CLIENT": "us"}}
        with pytest.raises(InvalidSequence, match=r"\['CLIENT'\] is 'us'; .* which has 'default', 'eu'"):
            strategies["a"]

    def test_options_of_a_client_that_is_not_there(self, settings: Settings) -> None:
        """Its options cannot be asked for, and the error names the clients that there are."""
        settings.SEQUENCES_CLIENTS = {"eu": {}}
        with pytest.raises(InvalidSequence, match=r"no client 'us' .*; there is 'default', 'eu'"):
            client_options("us")

    def test_what_they_set(self, settings: Settings) -> None:
        """Region, endpoint, timeouts and pool are those of the entry."""
        settings.SEQUENCES_CLIENTS = {
            "eu": {
                "REGION": "eu-west-3",
                "ENDPOINT": "http://127.0.0.1:9",
                "CONNECT_TIMEOUT": 0.5,
                "READ_TIMEOUT": 2,
                "POOL_SIZE": 7,
            }
        }
        meta = dynamodb.shared_client("eu").meta
        config = vars(meta.config)
        assert (meta.region_name, meta.endpoint_url) == ("eu-west-3", "http://127.0.0.1:9")
        assert [config[name] for name in ("connect_timeout", "read_timeout", "max_pool_connections")] == [0.5, 2, 7]

    @pytest.mark.parametrize(("entry", "seen"), [({}, 0), ({"LEAN": False}, 1)])
    def test_which_way_requests_go(self, endpoint: str, settings: Settings, entry: dict[str, Any], seen: int) -> None:
        """Requests go the lean way, not along botocore's model, unless LEAN is False."""
        settings.SEQUENCES_CLIENTS = {"default": entry}
        with asked_of_boto3() as asked:
            dynamodb.call("list_tables", {})
        assert asked.call_count == seen

    def test_a_profile(self, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The credentials and the Region of a profile are used."""
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
            monkeypatch.delenv(name)
        config = tmp_path / "config"
        config.write_text("[profile books]\nregion = ap-south-1\naws_access_key_id = k\naws_secret_access_key = s\n")
        monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
        settings.SEQUENCES_CLIENTS = {"books": {"PROFILE": "books"}}
        client: Any = dynamodb.shared_client("books")
        assert client.meta.region_name == "ap-south-1"
        assert client._request_signer._credentials.access_key == "k"

    @pytest.mark.real_dynamodb
    def test_a_role_without_credentials(
        self, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where nobody's credentials are found in whose name to assume a role, the error has the remedy."""
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.delenv(name)
        for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
            monkeypatch.setenv(name, str(tmp_path / name))
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        settings.SEQUENCES_CLIENTS = {"books": {"ROLE": ROLE}}
        with pytest.raises(NotConfigured, match=r"Unable to locate credentials.* Set AWS_DEFAULT_REGION and cred"):
            dynamodb.call("list_tables", {}, client="books")

    @mock_aws
    def test_a_role(self, settings: Settings) -> None:
        """A role is assumed at the first request, in the name of the other credentials, with its external ID."""
        settings.SEQUENCES_CLIENTS = {"books": {"ROLE": ROLE, "EXTERNAL_ID": "shop"}}
        client: Any = dynamodb.shared_client("books")
        credentials = client._request_signer._credentials
        assert credentials.method == "assume-role"
        assert credentials.get_frozen_credentials().access_key.startswith("ASIA")
        assert credentials._refresh_using.__self__._assume_kwargs["ExternalId"] == "shop"
        dynamodb.reset()

    def test_the_time_for_a_role(self, settings: Settings) -> None:
        """A call that assumes a role waits for STS as for DynamoDB, and asks it once: it repeats its request itself."""
        settings.SEQUENCES_CLIENTS = {"books": {"ROLE": ROLE, "CONNECT_TIMEOUT": 0.5, "READ_TIMEOUT": 2}}
        client: Any = dynamodb.shared_client("books")
        config = vars(client._request_signer._credentials._refresh_using.__self__._create_client().meta.config)
        assert [config["connect_timeout"], config["read_timeout"]] == [0.5, 2]
        assert config["retries"]["total_max_attempts"] == 1
        dynamodb.reset()
