"""The check of a history accepts correct histories and finds every violation of every law."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from project.paths import ROOT
from project.proof.faults.history import LAWS, Asked, Event, History, Recorder, Word, broken_pairs, check, read

Record = dict[str, Any]
Damage = Callable[[list[Record], st.DataObject], None]

MOMENTS = st.integers(0, 12)
FAILURES = st.sampled_from(["fail", "unknown"])
NEW: Record = {"what": "ok", "number": 1}
AGAIN: Record = {**NEW, "replayed": True}


def attempt(
    token: str, began: float, ended: float | None, *, size: int = 1, also: str = "", **told: Any
) -> list[Record]:
    """The lines of one attempt. Without an end the attempt got no answer."""
    about = {"client": token, "scope": "S", "token": token}
    invoke = {**about, "what": "invoke", "at": began, "content": f"{token} wants", "size": size, "also": also.split()}
    return [invoke] if ended is None else [invoke, {**about, "at": ended, **told}]


def row(number: int, token: str, place: int | None = None) -> Record:
    """The line of a stored item. With a place it is one of the items that were stored together."""
    content = f"{token} wants" if place is None else f"{token} wants {place}"
    return {"what": "stored", "scope": "S", "number": number, "token": token, "content": content}


def tally(count: int) -> Record:
    """The line of the riders that were counted."""
    return {"what": "tally", "scope": "S", "count": count}


def note(number: int, token: str) -> Record:
    """The line of a note."""
    return {"what": "note", "scope": "S", "number": number, "content": f"{token} wants"}


def checked(records: list[Record]) -> set[str]:
    """The laws that these lines break."""
    return {violation.law for history in read(map(json.dumps, records)) for violation in check(history)}


BREACHES: dict[str, list[list[Record]]] = {
    "uniqueness": [
        [*attempt("a", 0, 1, **NEW), row(1, "a"), row(2, "a")],
        [*attempt("a", 0, 9, **NEW), *attempt("b", 0, None), row(1, "b"), row(1, "a")],
        [*attempt("a", 0, 9, **NEW, size=2), row(1, "a", 0), row(2, "a", 1), row(3, "a", 0), row(4, "a", 1)],
    ],
    "no_gap": [[*attempt("a", 0, 9, **NEW), *attempt("b", 0, 9, what="ok", number=3), row(1, "a"), row(3, "b")]],
    "order_in_time": [
        [*attempt("a", 0, 1, what="ok", number=2), *attempt("b", 2, 3, **NEW), row(2, "a"), row(1, "b")],
        [*attempt("a", 0, 1, what="ok", number=2), *attempt("b", 2, 3, what="unknown"), row(2, "a"), row(1, "b")],
        [*attempt("a", 0, 1, what="ok", number=2), *attempt("b", 2, None), row(2, "a"), row(1, "b")],
        [
            *attempt("b", 0, 1, what="fail"),
            *attempt("a", 2, 3, what="ok", number=2),
            *attempt("b", 4, 5, **NEW),
            row(2, "a"),
            row(1, "b"),
        ],
    ],
    "failed_is_absent": [
        [*attempt("a", 0, 1, what="fail"), row(1, "a")],
        [*attempt("a", 0, 1, what="fail"), *attempt("a", 2, 3, what="fail"), row(1, "a")],
        [*attempt("a", 0, 1, what="fail"), *attempt("a", 2, 3, **AGAIN), row(1, "a")],
    ],
    "unknown_at_most_once": [
        [*attempt("a", 0, 1, what="unknown"), row(1, "a"), row(2, "a")],
        [*attempt("a", 0, None), row(1, "a"), row(2, "a")],
        [*attempt("a", 0, 1, what="unknown"), *attempt("a", 2, 3, what="fail"), row(1, "a"), row(2, "a")],
    ],
    "replays_agree": [[*attempt("a", 0, 1, **NEW), *attempt("a", 2, 3, **NEW), row(1, "a")]],
    "stored_as_told": [
        [*attempt("a", 0, 1, **NEW)],
        [*attempt("a", 0, 1, **NEW, content="a wanted"), row(1, "a")],
        [*attempt("a", 0, 1, **NEW), {**row(1, "a"), "content": "a wanted"}],
        [row(1, "nobody")],
    ],
    "together_is_whole": [
        [*attempt("a", 0, None, size=2), row(1, "a", 0)],
        [*attempt("a", 0, None, size=2), row(1, "a", 1), row(2, "a", 0)],
        [*attempt("a", 0, None, size=2), *attempt("b", 0, None), row(1, "a", 0), row(2, "b"), row(3, "a", 1)],
    ],
    "riders_go_with_items": [
        [*attempt("a", 0, 1, **NEW, also="tally"), row(1, "a"), tally(0)],
        [*attempt("a", 0, 1, **NEW, also="tally"), row(1, "a"), tally(2)],
        [*attempt("a", 0, 1, what="fail", also="tally"), tally(1)],
        [*attempt("a", 0, 1, **NEW, also="note"), row(1, "a"), tally(0)],
        [*attempt("a", 0, 1, **NEW, also="note"), row(1, "a"), note(1, "b")],
        [*attempt("a", 0, 1, what="fail", also="note"), note(1, "a")],
    ],
    "no_wrong_word": [[*attempt("a", 0, 1, what="unknown", wrong=True, why="500")]],
}
"""Small histories, each of which breaks one law and no other."""


def test_every_law_has_its_breaches() -> None:
    """No law goes without a history that breaks it."""
    assert [law.__name__ for law in LAWS] == list(BREACHES)


@pytest.mark.parametrize(("law", "records"), [(law, records) for law in BREACHES for records in BREACHES[law]])
def test_a_breach_is_found(law: str, records: list[Record]) -> None:
    """A history that breaks one law is found to break that one and no other."""
    assert checked(records) == {law}


@pytest.mark.parametrize(
    "records",
    [
        [],
        [*attempt("a", 0, 1, what="unknown")],
        [*attempt("a", 0, 1, what="unknown"), row(1, "a")],
        [*attempt("a", 0, None), row(1, "a")],
        [*attempt("a", 0, 1, what="fail"), *attempt("a", 2, 3, **NEW), row(1, "a")],
        [*attempt("a", 0, 1, what="unknown"), *attempt("a", 2, 3, what="fail"), row(1, "a")],
        [*attempt("a", 0, 1, **NEW, size=2), row(1, "a", 0), row(2, "a", 1)],
        [*attempt("a", 0, None, size=2)],
        [*attempt("a", 0, 1, what="unknown", size=2), row(1, "a", 0), row(2, "a", 1)],
        [*attempt("a", 0, 1, **NEW, also="tally note"), row(1, "a"), tally(1), note(1, "a")],
        [*attempt("a", 0, None, also="tally note"), row(1, "a"), tally(1), note(1, "a")],
        [*attempt("a", 0, 1, what="unknown", also="tally note"), tally(0)],
        [*attempt("a", 0, 1, **NEW, content="a wants"), *attempt("a", 2, 3, **AGAIN, content="a wants"), row(1, "a")],
    ],
)
def test_what_may_happen_is_accepted(records: list[Record]) -> None:
    """An unknown outcome may be either, a failure may be followed by success, a repeat brings the same."""
    assert checked(records) == set()


def test_a_number_told_twice_is_found() -> None:
    """Two requests that were told one number break the uniqueness, whatever is stored."""
    assert "uniqueness" in checked([*attempt("a", 0, 1, **NEW), *attempt("b", 0, 1, **NEW), row(1, "b")])
    together = attempt("a", 0, 9, **NEW, size=2)
    assert "uniqueness" in checked(
        [*together, *attempt("b", 0, 9, what="ok", number=2), row(1, "a", 0), row(2, "a", 1)]
    )


def test_a_refusal_whose_items_are_stored_later_is_found() -> None:
    """Items of a request that was refused for certain are found, alone, together and under whatever number."""
    for rows in ([row(7, "a")], [row(7, "a", 0), row(8, "a", 1)]):
        refused = attempt("a", 0, 1, size=len(rows), what="fail", why="AlsoRefused")
        assert "failed_is_absent" in checked([*refused, *rows])


def test_an_answered_item_of_a_group_must_be_there() -> None:
    """Items that were answered together are each stored under their own number."""
    assert checked([*attempt("a", 0, 1, **NEW, size=2), row(1, "a", 0)]) == {"stored_as_told", "together_is_whole"}


@pytest.mark.parametrize(("promise", "law"), [("gapless", "no_gap"), ("ordered", "order_in_time")])
def test_only_what_is_promised_is_asked_for(promise: str, law: str) -> None:
    """A strategy may break a law that it does not promise."""
    flags = {"gapless": True, "ordered": True, promise: False}
    assert checked([*BREACHES[law][0], {"what": "scope", "scope": "S", **flags}]) == set()


def test_a_replay_tells_of_an_earlier_number() -> None:
    """A replay may bring a smaller number than what was created after its request was first made, not before."""
    later = [*attempt("b", 2, 3, what="ok", number=2), row(2, "b"), row(1, "a")]
    assert checked([*attempt("a", 0, 1, what="unknown"), *later, *attempt("a", 4, 5, **AGAIN)]) == set()
    assert checked([*attempt("a", 3.5, 3.6, what="unknown"), *later, *attempt("a", 4, 5, **AGAIN)]) == {"order_in_time"}


def committed(draw: st.DrawFn, token: str, began: int) -> tuple[list[Record], int | None]:
    """The attempts of one request, and when it was stored, or None. The lines with "ok" have no number yet."""
    ends = [began]
    for _ in range(draw(st.integers(1, 3))):
        ends += [ends[-1] + 1 + draw(MOMENTS), ends[-1] + 14 + draw(MOMENTS)]
    spans = list(zip(ends[1::2], ends[2::2], strict=True))
    winner = draw(st.none() | st.integers(0, len(spans) - 1))
    if winner is None:
        return [record for span in spans for record in attempt(token, *span, what=draw(FAILURES))], None
    late = draw(st.booleans())
    stored = spans[winner][1] + 1 + draw(MOMENTS) if late else draw(st.integers(*spans[winner]))
    records = []
    for place, span in enumerate(spans):
        if place == winner:
            told = "unknown" if late else draw(st.sampled_from(["ok", "unknown"]))
        else:
            told = draw(
                st.sampled_from(["ok", "fail", "unknown"]) if place > winner and span[1] >= stored else FAILURES
            )
        about: Record = {"replayed": place != winner} if told == "ok" else {}
        records += attempt(token, *span, what=told, **about)
    return records, stored


@st.composite
def runs(draw: st.DrawFn) -> list[Record]:
    """The lines of a correct run: some random requests, and one of each kind that the damages need."""
    records: list[Record] = []
    stored: dict[str, int] = {}
    for token in "abcdef"[: draw(st.integers(0, 6))]:
        more, at = committed(draw, token, draw(st.integers(0, 60)))
        records += more
        stored.update({token: at} if at is not None else {})
    records += [*attempt("first", 0, 1, what="ok"), *attempt("last", 200, 201, what="ok")]
    records += [*attempt("again", 0, 99, what="ok"), *attempt("again", 100, 101, what="ok", replayed=True)]
    records += [
        *attempt("lost", 2, 3, what="unknown"),
        *attempt("gone", 0, None),
        *attempt("failed", 0, 1, what="fail"),
    ]
    stored |= {"first": 0, "last": 200, "again": draw(st.integers(0, 99)), "lost": draw(st.integers(2, 99))}
    numbers = {token: place + 1 for place, token in enumerate(sorted(stored, key=lambda token: stored[token]))}
    told = draw(st.booleans())
    for record in records:
        if record["what"] == "ok":
            record["number"] = numbers[record["token"]]
            record.update({"content": f"{record['token']} wants"} if told else {})
    return [*records, *(row(number, token) for token, number in numbers.items())]


@given(runs())
def test_a_correct_run_is_accepted(records: list[Record]) -> None:
    """Whatever is lost, late or repeated: a run that kept every promise breaks no law."""
    assert checked(records) == set()


def lines(records: list[Record], what: str, *tokens: str) -> list[Record]:
    """The lines of one kind, of some tokens or of all."""
    return [record for record in records if record["what"] == what and (not tokens or record["token"] in tokens)]


def rename(records: list[Record], numbers: dict[int, int]) -> None:
    """Change numbers, both in the answers and in the table."""
    for record in records:
        if record.get("number") in numbers:
            record["number"] = numbers[record["number"]]


def drawn(records: list[Record], what: str, data: st.DataObject, *tokens: str) -> Record:
    """One line of a kind."""
    return data.draw(st.sampled_from(lines(records, what, *tokens)))


def tell_two_the_same(records: list[Record], data: st.DataObject) -> None:
    """Answer a request with the number of another one."""
    victim = drawn(records, "ok", data)
    other = [record["number"] for record in lines(records, "ok") if record["token"] != victim["token"]]
    victim["number"] = data.draw(st.sampled_from(other))


def store_again(token: str) -> Damage:
    """Store a request under one more number."""
    return lambda records, data: records.append(row(len(lines(records, "stored")) + 1, token))


def lose_row(records: list[Record], data: st.DataObject) -> None:
    """Remove a stored item, but not the last one."""
    records.remove(data.draw(st.sampled_from(lines(records, "stored")[:-1])))


def lose_what_was_told(records: list[Record], data: st.DataObject) -> None:
    """Remove a stored item of an answered request."""
    token = drawn(records, "ok", data)["token"]
    records.remove(lines(records, "stored", token)[0])


def swap(early: str, late: str) -> Damage:
    """Swap the numbers of two requests. The first ended before the second began."""

    def damage(records: list[Record], data: st.DataObject) -> None:
        one, other = (lines(records, "stored", token)[0]["number"] for token in (early, late))
        rename(records, {one: other, other: one})

    return damage


def change(what: str, field: str, value: object, *tokens: str) -> Damage:
    """Change a field of a line."""
    return lambda records, data: drawn(records, what, data, *tokens).update({field: value})


def change_replay(field: str, value: object) -> Damage:
    """Change a field of a replay."""
    return lambda records, data: lines(records, "ok", "again")[1].update({field: value})


DAMAGES: dict[str, tuple[Damage, str]] = {
    "two are told one number": (tell_two_the_same, "uniqueness"),
    "an answered request is stored again": (store_again("first"), "uniqueness"),
    "a row is gone": (lose_row, "no_gap"),
    "the row of an answer is gone": (lose_what_was_told, "stored_as_told"),
    "an early and a late number are swapped": (swap("first", "last"), "order_in_time"),
    "an early and a lost number are swapped": (swap("first", "lost"), "order_in_time"),
    "a failed request is stored": (store_again("failed"), "failed_is_absent"),
    "an answer says that nothing was stored": (change("ok", "what", "fail", "first", "last"), "failed_is_absent"),
    "a lost request is stored again": (store_again("lost"), "unknown_at_most_once"),
    "a replay has another number": (change_replay("number", 999), "replays_agree"),
    "a replay has another content": (change_replay("content", "something else"), "replays_agree"),
    "a replay is called new": (change_replay("replayed", False), "replays_agree"),
    "a first answer is called a replay": (change("ok", "replayed", True, "first", "last"), "failed_is_absent"),
    "an answer has another content": (change("ok", "content", "something else"), "stored_as_told"),
    "an answer has another number": (change("ok", "number", 999), "stored_as_told"),
    "a row has another content": (change("stored", "content", "something else"), "stored_as_told"),
    "a row has another owner": (change("stored", "token", "gone", "first", "last", "again"), "stored_as_told"),
    "a stranger is stored": (store_again("stranger"), "stored_as_told"),
}


@pytest.mark.parametrize("damage", DAMAGES)
@settings(max_examples=12)
@given(data=st.data())
def test_one_damage_is_found(damage: str, data: st.DataObject) -> None:
    """A correct run with one thing changed breaks the law that this thing is about."""
    records = data.draw(runs())
    change, law = DAMAGES[damage]
    change(records, data)
    assert law in checked(records)


@given(st.lists(st.tuples(MOMENTS, MOMENTS, MOMENTS), max_size=12))
def test_the_order_is_checked_as_by_comparing_all_pairs(drawn: list[tuple[int, int, int]]) -> None:
    """An event is found broken if and only if some event that ended before it began has no smaller value."""
    events = [Event(min(a, b), max(a, b), value) for a, b, value in drawn]
    broken = {
        later for early, later in product(events, events) if early.ended < later.began and early.value >= later.value
    }
    assert {later for _, later in broken_pairs(events)} == broken


def test_the_check_of_the_order_names_the_pair() -> None:
    """The check of the order reports a pair of events that breaks it."""
    early, later = Event(0, 1, 7), Event(2, 3, 6)
    assert broken_pairs([later, early, Event(0, 1, 5)]) == [(early, later)]


def recorded(path: Path) -> History:
    """The history in a file."""
    with path.open() as file:
        (history,) = read(file)
    return history


def test_what_is_recorded_is_read_again(tmp_path: Path) -> None:
    """Clients of several recorders write one file, and nothing of it is lost or mixed."""

    def client(name: str, recorder: Recorder) -> None:
        for number in range(50):
            asked = Asked("S", f"{name}-{number}", "text")
            recorder.call(name, asked, lambda asked: Word("ok", int(asked.token.rpartition("-")[2]), "text"))

    recorders = [Recorder(tmp_path), Recorder(tmp_path)]
    threads = [threading.Thread(target=client, args=(f"c{n}", recorders[n % 2])) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    history = recorded(recorders[0].path("S"))
    assert {token: request.oks[0].event.value for token, request in history.requests.items()} == {
        f"c{n}-{number}": number for n in range(8) for number in range(50)
    }


def test_an_invoke_is_written_before_the_request(tmp_path: Path) -> None:
    """A client that dies while it waits leaves an unknown request behind."""
    recorder = Recorder(tmp_path)

    def die(asked: Asked) -> Word:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        recorder.call("c", Asked("S", "t", "text"), die)
    assert recorded(recorder.path("S")).requests["t"].last_word == "unknown"


def test_the_tally_counts_last_words() -> None:
    """Requests are counted by their last word; attempts, replays, stored items and reasons beside them."""
    (history,) = read(
        map(
            json.dumps,
            [
                *attempt("a", 0, 1, what="unknown", why="hung up"),
                *attempt("a", 2, 3, **AGAIN),
                *attempt("b", 0, 1, what="fail", why="503"),
                *attempt("c", 0, None),
                row(1, "a"),
            ],
        )
    )
    assert history.counts() == {"ok": 1, "fail": 1, "unknown": 1, "attempts": 4, "replayed": 1, "stored": 1}
    assert history.reasons == {"unknown: hung up": 1, "fail: 503": 1}


def test_what_is_asked_for_is_recorded(tmp_path: Path) -> None:
    """The record of a request has how many items it asks for, and what rides with them."""
    recorder = Recorder(tmp_path)
    for asked in (Asked("S", "a", "a 1", size=2, marked=False), Asked("S", "b", "b 1", also=("tally",), own_key=7)):
        recorder.call("c", asked, lambda asked: Word("unknown"))
    requests = recorded(recorder.path("S")).requests
    assert requests["a"].titles == ["a 1 0", "a 1 1"]
    assert (requests["b"].titles, list(requests["b"].also)) == (["b 1"], ["tally"])


@pytest.mark.parametrize(("law", "status"), [(None, 0), ("failed_is_absent", 1)])
def test_a_kept_history_is_checked_from_the_command_line(tmp_path: Path, law: str | None, status: int) -> None:
    """The exit status is 1 when a law was broken, and the breach is named."""
    records = BREACHES[law][0] if law else [*attempt("a", 0, 1, **NEW), row(1, "a")]
    (tmp_path / "S.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    command = [sys.executable, "-m", "project.proof.faults.history", str(tmp_path / "S.jsonl")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert (f"S: {law}: " in done.stdout) == bool(law)
