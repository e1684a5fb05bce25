"""System checks: the settings, what the sequences would do to each other's tables, and the installation.

They read settings, import classes and look at the environment, and never use the network.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import date
from itertools import combinations

from django.core.checks import CheckMessage, Error
from django.core.checks import Warning as CheckWarning

from .. import dynamodb
from ..dynamodb.expressions import KeySchema, shown
from ..exceptions import InvalidSequence, InvalidText, StorageRefused
from ..formats import Written, may_repeat
from ..formats.template import has_letters
from ..metrics import recorders
from ..registry import configured, strategies
from ..strategies import Strategy
from .costs import prices
from .tables import schemas_of, usable

NAMESAKE = "django-sequences"
A_DAY, LONG = date(2026, 1, 1), 10**12


def check_sequences() -> Iterator[CheckMessage]:
    """One error (sequences.E001) for each sequence that cannot be used, with the remedy.

    sequences.E002 is about SEQUENCES_CLIENTS, sequences.E008 about SEQUENCES_PRICES, and sequences.E009 about
    SEQUENCES_METRICS.
    """
    try:
        for alias in dynamodb.clients():
            dynamodb.client_options(alias)
    except InvalidSequence as error:
        yield Error(str(error), hint="See docs/settings.md.", id="sequences.E002")
    for read, name in ((prices, "sequences.E008"), (recorders, "sequences.E009")):
        try:
            read()
        except InvalidSequence as error:
            yield Error(str(error), hint="See docs/watching.md.", id=name)
    if any(check_prefix()):
        return  # no sequence can be used
    try:
        aliases = list(configured())
    except InvalidSequence as error:
        yield Error(str(error), id="sequences.E001")
        return
    for alias in aliases:
        try:
            strategies[alias]
        except InvalidSequence as error:
            yield Error(str(error), hint="See docs/settings.md.", id="sequences.E001")


def check_prefix() -> Iterator[CheckMessage]:
    """An error (sequences.E011) if no table can have a name that begins with TABLE_PREFIX."""
    try:
        dynamodb.table_name("")
    except InvalidSequence as error:
        yield Error(str(error), hint="See docs/settings.md.", id="sequences.E011")


def check_keys() -> Iterator[CheckMessage]:
    """One error (sequences.E003) for each two sequences that store their items under the same keys.

    sequences.W003 warns of two sequences whose keys may be the same for different scopes.
    """
    for one, other in combinations(usable(), 2):
        have_keys = "attribute" not in (one.layout.value_in, other.layout.value_in)
        are_together = have_keys and _place(one.schema) == _place(other.schema)
        if are_together and _is_nested(one.schema.sort_prefix, other.schema.sort_prefix):
            yield from _compared(one, other)


def _compared(one: Strategy, other: Strategy) -> Iterator[CheckMessage]:
    """What is wrong with two sequences whose items are in one table."""
    texts = _partition(one), _partition(other)
    both = f"The sequences {one.alias!r} and {other.alias!r} have their items in the table {one.schema.table!r}"
    hint = "Give one of them another TABLE, or begin its option 'partition' with \"{sequence}#\"."
    if texts[0] == texts[1]:
        begin = [one.schema.sort_prefix, other.schema.sort_prefix]
        nested = f", and one sort key begins as the other: {begin[0]!r}, {begin[1]!r}" if begin[0] != begin[1] else ""
        if any(begin):
            hint = f"{hint} Or let their sort keys begin in two ways, as 'ORDER#' and 'BILL#' do."
        yield Error(f"{both} under the same keys, {texts[0]!r}{nested}.", hint=hint, id="sequences.E003")
    elif _may_meet(*texts):
        said = f"{both}, and the partition keys {texts[0]!r} and {texts[1]!r} may be the same for different scopes."
        yield CheckWarning(said, hint=hint, id="sequences.W003")


def _partition(strategy: Strategy) -> str:
    """The partition keys of a sequence's items, with the scope left open."""
    return strategy.layout.template.replace("{sequence}", strategy.alias)


def _may_meet(one: str, other: str) -> bool:
    """Whether what stands in place of the braces can make both texts the same."""
    begin = [text.partition("{")[0] for text in (one, other)]
    end_backwards = [text.rpartition("}")[2][::-1] for text in (one, other)]
    return _is_nested(*begin) and _is_nested(*end_backwards)


def _is_nested(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def check_tables() -> Iterator[CheckMessage]:
    """One error (sequences.E004) for each sequence that needs other keys of a table than one before it."""
    needed: dict[tuple[str, str], tuple[str, Mapping[str, str]]] = {}
    for strategy, schema in [(one, schema) for one in usable() for schema in schemas_of(one)]:
        first, keys = needed.setdefault(_place(schema), (strategy.alias, schema.keys))
        if shown(keys) != shown(schema.keys):
            said = (
                f"The sequence {strategy.alias!r} needs the table {schema.table!r} with the keys "
                f"{shown(schema.keys)}, and {first!r} needs it with the keys {shown(keys)}."
            )
            hint = "Give one of them another table, or both of them the same 'key_names' and 'key_types'."
            yield Error(said, hint=hint, id="sequences.E004")


def check_texts() -> Iterator[CheckMessage]:
    """One error (sequences.E007) for each FORMAT that gives the same text to two values, and name both.

    A sequence without FORMAT has the bare numbers for texts, whatever its scopes and periods are.
    """
    for strategy in usable():
        if strategy.config.format is not None and (clash := strategy.naming.format.clash()):
            said = f"{strategy.naming.format.where} is {strategy.config.format!r}; the text {clash.text!r} belongs to "
            hint = "Put a character that is no digit, such as '-', between {scope} and {value}."
            if clash.one.period != clash.other.period:
                hint = "Put {period} into FORMAT, or parts of the date that tell the period."
            yield Error(f"{said}{clash.one}, and to {clash.other}.", hint=hint, id="sequences.E007")


def check_former_texts() -> Iterator[CheckMessage]:
    """One warning (sequences.W006) for each of ALSO_READ whose texts FORMAT may write once more, for later values."""
    hint = "Let FORMAT begin in another way, such as with other letters."
    for strategy in usable():
        form = strategy.naming.format
        for one in strategy.naming.forms[1:] if strategy.config.format is not None else ():
            former, present = (Written(each, range(each.start, each.maximum + 1)) for each in (one, form))
            if may_repeat(former, present, "A"):
                said = f"{form.where} is {form.template!r}; a text could also be one that {one.template!r} has written."
                yield CheckWarning(said, hint=hint, id="sequences.W006")


def check_apart() -> Iterator[CheckMessage]:
    """One error (sequences.E010) for each two sequences that would write the same text on two documents.

    Not asked are those whose FORMAT has {scope}, which may differ, or no letter, as bare numbers say what they number
    nowhere.
    """
    named = [one for one in usable() if has_letters(one.config.format or "")]
    hint = "Let their FORMATs begin with different letters, as 'INV-' and 'CN-' do."
    for one, other in combinations(named, 2):
        uses_scope = one.naming.format.uses_scope or other.naming.format.uses_scope
        if not uses_scope and (text := _text_of_both(one, other)):
            said = f"The sequences {one.alias!r} and {other.alias!r} both write {text!r}."
            yield Error(said, hint=hint, id="sequences.E010")


def _text_of_both(one: Strategy, other: Strategy) -> str | None:
    """A text of the one that is also the other's, but for capital letters; the first text is tried, and a long one."""
    numbers, naming = one.numbers, one.naming
    scope, day = naming.dated(None, A_DAY if naming.uses_dates else None)
    long = numbers.after(LONG - LONG % numbers.step + numbers.before_start, 1)
    for value in [numbers.start, *(one for one in long if one <= numbers.maximum)]:
        text = naming.text_or_number(value, scope, day)
        with suppress(InvalidText):
            if other.naming.format.parse(text).text.casefold() == text.casefold():
                return text
    return None


def check_client() -> Iterator[CheckMessage]:
    """A warning (sequences.W005) if no client can be made here, for example for lack of a Region.

    No error, because a machine that only builds or tests may have no settings of AWS. Credentials that boto3 would ask
    the network for are not looked up.
    """
    for client in sorted({strategy.config.client for strategy in usable()}):
        try:
            dynamodb.try_client(client)
        except StorageRefused as error:
            hint = "On a machine that sends no requests: SILENCED_SYSTEM_CHECKS = ['sequences.W005']."
            said = f"The client {client!r} of SEQUENCES_CLIENTS: {error}"
            yield CheckWarning(said, hint=hint, id="sequences.W005")
        except InvalidSequence:
            pass  # `check_sequences` reports it


def check_namesake() -> Iterator[CheckMessage]:
    """An error (sequences.E006) if django-sequences is installed: it has the same import name."""
    from importlib import metadata

    try:
        metadata.distribution(NAMESAKE)
    except metadata.PackageNotFoundError:
        return
    said = f"{NAMESAKE} is installed too. Its import name is also `sequences`, so its files and ours are mixed."
    hint = f"pip uninstall {NAMESAKE} django-dynamodb-sequences, then install django-dynamodb-sequences again."
    yield Error(said, hint=hint, id="sequences.E006")


CHECKS = (
    check_sequences,
    check_prefix,
    check_keys,
    check_tables,
    check_texts,
    check_former_texts,
    check_apart,
    check_client,
    check_namesake,
)


def _place(schema: KeySchema) -> tuple[str, str]:
    return schema.client, schema.table
