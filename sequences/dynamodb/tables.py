"""Creating and deleting tables, and telling a table from an earlier one of the same name."""

import logging
import math
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from django.conf import settings

from ..exceptions import InvalidSequence, NotConfigured, NotWritten, OutcomeUnknown, StorageError, TableMissing
from . import client
from .configuration import DEFAULT_CLIENT
from .errors import translate_errors
from .lives import KnownLife, TableLife, copies_in

logger = logging.getLogger(__name__)

_is_prefix = re.compile(r"[A-Za-z0-9_.-]*").fullmatch
ASK_AGAIN_SECONDS = 60.0
LONGEST_PAUSE = 60.0  # in which no table is deleted and restored
INDEX_SECONDS = 120.0
# Without a life nothing is known of what other processes of the host have given: an engine that comes back tells it.
SOON_SECONDS = 1.0
UNDESCRIBED = (
    "table %s: cannot be described, so a table made again is noticed late, and writes of other Regions not at all: %s"
)


def table_name(name: str) -> str:
    """The full name of a table: the setting TABLE_PREFIX and the given name. Raises InvalidSequence for a wrong one."""
    prefix = getattr(settings, "TABLE_PREFIX", "")
    if not (isinstance(prefix, str) and _is_prefix(prefix)):
        raise InvalidSequence(
            f"The setting TABLE_PREFIX is {prefix!r}; it must be a text of letters, digits, '_', '-' or '.', and may "
            "be empty."
        )
    return f"{prefix}{name}"


def life_of(
    table: str,
    *,
    send: Callable[[str, Mapping[str, Any]], Mapping[str, Any]],
    anew: bool = False,
    alias: str = DEFAULT_CLIENT,
) -> TableLife:
    """The life of a table.

    A process asks once by one `DescribeTable`. It asks again when a request finds the table missing, when it has not
    used the table for LONGEST_PAUSE, when it makes or deletes tables itself, or with `anew`. If the engine does not
    answer, the life that is known stands for a minute, or one without identity for a second, so that numbers do not
    wait. Raises TableMissing and NotConfigured.
    """
    lives, now = client.lives(alias), client.elapsed()
    known = lives.by_table.get(table)
    if known and not anew and now < min(known.until, known.used + LONGEST_PAUSE):
        known.used = now
        return known.life
    epoch = lives.epoch
    try:
        about = send("describe_table", {"TableName": table})["Table"]
    except (NotConfigured, TableMissing):
        raise
    except StorageError as error:
        if known is None or known.life.identity:  # once, and not every minute
            logger.warning(UNDESCRIBED, table, error)
        life = known.life if known else TableLife(f"{client.account(alias)}|{table}", "", epoch)
        is_away = not life.identity and isinstance(error, NotWritten | OutcomeUnknown)
        until = client.elapsed() + (SOON_SECONDS if is_away else ASK_AGAIN_SECONDS)
    else:
        life, until = _described(about, f"{client.account(alias)}|{table}", epoch), math.inf
    lives.by_table[table] = KnownLife(life, until, now)
    return life


def _described(about: Mapping[str, Any], place: str, epoch: int) -> TableLife:
    copies = copies_in(about)
    table_id = "" if copies.is_global else str(about.get("TableId", ""))
    return TableLife(place, _identity(about, place), epoch, copies, tuple(keys_in(about).items()), table_id)


def _identity(about: Mapping[str, Any], place: str) -> str:
    """What tells this life of a table from all others on this host.

    An engine without `TableId` gives the time of creation. At AWS's own address that engine is moto within this
    process: another process may make its own table of this name in the same millisecond.
    """
    made = about.get("TableId") or about.get("CreationDateTime")
    inside = f" in {os.getpid()}" if "amazonaws.com" in place and "TableId" not in about else ""
    return f"{about.get('TableArn')}|{made}{inside}"


def ask_again(table: str, alias: str = DEFAULT_CLIENT) -> None:
    """Let what is known of a table stand for a minute at most, because it is in the way: somebody may mend it."""
    if known := client.lives(alias).by_table.get(table):
        known.until = min(known.until, client.elapsed() + ASK_AGAIN_SECONDS)


def forget_lives(alias: str = DEFAULT_CLIENT) -> None:
    """Forget the life of every table, because tables were made or deleted."""
    client.lives(alias).forget()


Indexes = Mapping[str, Mapping[str, Literal["S", "N"]]]
"""The key attributes of each index with their types, the partition key first, as `create_table` takes keys."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TableOptions:
    """What an on-demand table has beside its keys. The defaults are those of DynamoDB."""

    most_reads: int | None = None
    """The read units a second above which DynamoDB refuses, as a guard of the costs; None: no such guard."""
    most_writes: int | None = None
    """The write units a second above which DynamoDB refuses."""
    warm_reads: int | None = None
    """The read units a second that the table can give at once, before any traffic; None: as DynamoDB does, 12,000."""
    warm_writes: int | None = None
    """The write units a second that the table can give at once; None: as DynamoDB does, 4,000."""
    protected: bool = False
    """Whether the table cannot be deleted before this is taken off."""
    recoverable: bool = False
    """Whether the table can be restored as it was at any moment of the last 35 days."""
    kms_key: str | None = None
    """The key of KMS that encrypts the table; None: one that DynamoDB owns."""
    tags: Mapping[str, str] = field(default_factory=dict)
    indexes: Indexes = field(default_factory=dict)
    """Its global secondary indexes, each with all attributes."""


PLAIN = TableOptions()


def create_table(
    name: str, keys: Mapping[str, Literal["S", "N"]], alias: str = DEFAULT_CLIENT, options: TableOptions = PLAIN
) -> bool:
    """Create one on-demand table, and wait until it is ready; False if it exists. Then it gets its missing indexes.

    `keys` has the names of one or two key attributes and their types, "S" or "N". Raises NotWritten while an index is
    still being made: from a table with many items that takes its time.
    """
    with translate_errors("create_table"):
        dynamodb = client.shared_client(alias)
        try:
            dynamodb.create_table(**_request(name, keys, options))
        except dynamodb.exceptions.ResourceInUseException:
            for index, index_keys in options.indexes.items():
                _add_index(dynamodb, name, index, index_keys)
            return False
        dynamodb.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 120})
        if options.recoverable:
            dynamodb.update_continuous_backups(
                TableName=name, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
            )
    forget_lives(alias)
    return True


def _add_index(dynamodb: Any, table: str, index: str, keys: Mapping[str, str]) -> None:
    """Make an index of a table that exists, and wait until it is ready. DynamoDB makes one at a time."""
    until = time.monotonic() + INDEX_SECONDS
    while True:
        about = dynamodb.describe_table(TableName=table)["Table"]
        stands = {one["IndexName"]: one["IndexStatus"] for one in about.get("GlobalSecondaryIndexes", ())}
        if stands.get(index) == "ACTIVE":
            return
        if index not in stands:
            defined = [_attribute(*one) for one in {**keys_in(about), **keys}.items()]
            made = {"Create": _index(index, keys)}
            dynamodb.update_table(TableName=table, AttributeDefinitions=defined, GlobalSecondaryIndexUpdates=[made])
        elif time.monotonic() > until:
            raise NotWritten(f"The index {index!r} of {table!r} is still being made: run `create_tables` again later.")
        else:
            time.sleep(1)


def _request(name: str, keys: Mapping[str, Literal["S", "N"]], options: TableOptions) -> Any:
    throughput = _throughput(options)
    kms = {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": options.kms_key} if options.kms_key else {}
    tags = [{"Key": name, "Value": value} for name, value in options.tags.items()]
    return {
        "TableName": name,
        **table_shape(keys, options.indexes, **throughput),
        "BillingMode": "PAY_PER_REQUEST",
        **throughput,
        **({"DeletionProtectionEnabled": True} if options.protected else {}),
        **({"SSESpecification": kms} if kms else {}),
        **({"Tags": tags} if tags else {}),
    }


def _throughput(options: TableOptions) -> dict[str, dict[str, int]]:
    """How much a table, or an index, takes at most and at once, as far as the options say it."""
    asked = {
        "OnDemandThroughput": {"MaxReadRequestUnits": options.most_reads, "MaxWriteRequestUnits": options.most_writes},
        "WarmThroughput": {"ReadUnitsPerSecond": options.warm_reads, "WriteUnitsPerSecond": options.warm_writes},
    }
    said = {name: {unit: count for unit, count in units.items() if count} for name, units in asked.items()}
    return {name: units for name, units in said.items() if units}


def table_shape(keys: Mapping[str, str], indexes: Indexes, **of_index: Any) -> dict[str, Any]:
    """The keys and the indexes of a table as CreateTable and CloudFormation take them; `of_index` is in each index."""
    defined = dict(one for index_keys in (keys, *indexes.values()) for one in index_keys.items())
    made = [_index(*index) | of_index for index in indexes.items()]
    return {
        "KeySchema": _key_schema(keys),
        "AttributeDefinitions": [_attribute(*one) for one in defined.items()],
        **({"GlobalSecondaryIndexes": made} if made else {}),
    }


def _key_schema(keys: Iterable[str]) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": "RANGE" if place else "HASH"} for place, name in enumerate(keys)]


def _attribute(name: str, kind: str) -> dict[str, str]:
    return {"AttributeName": name, "AttributeType": kind}


def _index(name: str, keys: Mapping[str, str]) -> dict[str, Any]:
    return {"IndexName": name, "KeySchema": _key_schema(keys), "Projection": {"ProjectionType": "ALL"}}


def table_keys(table: str, alias: str = DEFAULT_CLIENT) -> dict[str, str]:
    """The names of a table's key attributes, the partition key first, and their types. One `DescribeTable`."""
    return keys_in(client.call("describe_table", {"TableName": table}, client=alias)["Table"])


def keys_in(about: Mapping[str, Any]) -> dict[str, str]:
    """The same, from what `DescribeTable` says about a table; empty if it does not say them."""
    types = {key["AttributeName"]: key["AttributeType"] for key in about.get("AttributeDefinitions", ())}
    names = sorted(about.get("KeySchema", ()), key=lambda key: str(key["KeyType"]))  # HASH before RANGE
    return {key["AttributeName"]: types[key["AttributeName"]] for key in names}


def expire_items(table: str, attribute: str, alias: str = DEFAULT_CLIENT) -> str:
    """Let DynamoDB delete items after the time in `attribute` (seconds since 1970); return the attribute in use.

    That is another one if the table expires items by it already: a table has only one.
    """
    description = client.call("describe_time_to_live", {"TableName": table}, client=alias)["TimeToLiveDescription"]
    if description["TimeToLiveStatus"] in ("ENABLED", "ENABLING"):
        return str(description["AttributeName"])
    set_expiry(table, attribute, alias, enabled=True)
    return attribute


def set_expiry(table: str, attribute: str, alias: str = DEFAULT_CLIENT, *, enabled: bool) -> None:
    """Let DynamoDB delete items by `attribute`, or stop it from that."""
    wanted = {"Enabled": enabled, "AttributeName": attribute}
    client.call("update_time_to_live", {"TableName": table, "TimeToLiveSpecification": wanted}, client=alias)


def delete_table(name: str) -> None:
    """Delete one table and all its items; for tests and measurements."""
    client.call("delete_table", {"TableName": name})
    forget_lives()
