"""Collections that are read in pages and in batches: what is asked, and when it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from unittest.mock import Mock

import pytest

from sequences.dynamodb import marshal
from sequences.dynamodb.expressions import KeySchema, beginning, query_numbers, read_many, read_rest
from sequences.exceptions import NotWritten
from sequences.rows import reading
from sequences.rows.reading import pages, sorted_page, stored_tokens

ITEMS = KeySchema(table="items", client="other")
COUNTERS = KeySchema(table="sequences", partition_name="sequence", sort_name="scope", sort_type="S", client="other")


def page(*rows: Mapping[str, Any], last: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """An answer with these rows, after which there are more if it has a last key."""
    return {"Items": [*map(marshal, rows)], **({"LastEvaluatedKey": marshal(last)} if last else {})}


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """What sends the reads."""
    sent = Mock()
    monkeypatch.setattr(reading, "read", sent)
    return sent


class TestSortedPage:
    def test_the_first(self, read: Mock) -> None:
        """It begins with the first row, and has no cursor if there is no other page."""
        read.return_value = page({"scope": "a", "name": "A"})
        assert sorted_page(COUNTERS, "orders", None, 7, "name") == ([{"scope": "a", "name": "A"}], None)
        wanted = query_numbers(COUNTERS, "orders", newest_first=False, limit=7, attributes=["name"])
        read.assert_called_once_with("query", wanted, client="other")

    def test_the_next(self, read: Mock) -> None:
        """It continues after the cursor, and gives the next one; both are sort keys."""
        read.return_value = page({"scope": "c"}, last={"sequence": "orders", "scope": "c"})
        assert sorted_page(COUNTERS, "orders", "b", 1, newest_first=True) == ([{"scope": "c"}], "c")
        after = marshal({"sequence": "orders", "scope": "b"})
        wanted = query_numbers(COUNTERS, "orders", newest_first=True, limit=1, after=after)
        read.assert_called_once_with("query", wanted, client="other")

    def test_a_beginning(self, read: Mock) -> None:
        """Only rows are asked for whose sort keys begin so."""
        read.return_value = page()
        assert sorted_page(COUNTERS, "orders", None, 7, begin="#2026#") == ([], None)
        wanted = beginning(query_numbers(COUNTERS, "orders", newest_first=False, limit=7), "#2026#")
        read.assert_called_once_with("query", wanted, client="other")


class TestPages:
    FIRST = page({"pk": "a", "sk": 1}, {"pk": "a", "sk": 2}, last={"pk": "a", "sk": 2})
    LAST = page({"pk": "a", "sk": 3})

    def test_all(self) -> None:
        """Each page continues after the one before, until there is no more."""
        send = Mock(side_effect=[self.FIRST, self.LAST])
        found = list(pages(ITEMS, "a", 2, "title", send=send))
        assert [[row["sk"] for row in rows] for rows in found] == [[1, 2], [3]]
        first = query_numbers(ITEMS, "a", newest_first=False, limit=2, attributes=["title"])
        assert [call.args for call in send.call_args_list] == [
            ("query", first),
            ("query", {**first, "ExclusiveStartKey": marshal({"pk": "a", "sk": 2})}),
        ]

    def test_whole_items(self, read: Mock) -> None:
        """Without a way to send, each page is read by the client of its table; items may come whole."""
        read.return_value, after = self.LAST, marshal({"pk": "a", "sk": 9})
        assert [len(rows) for rows in pages(ITEMS, "a", 2, newest_first=True, whole=True, after=after)] == [1]
        wanted = query_numbers(ITEMS, "a", newest_first=True, limit=2, after=after, attributes=None)
        read.assert_called_once_with("query", wanted, client="other")


class TestTokens:
    def test_batches(self, read: Mock, monkeypatch: pytest.MonkeyPatch) -> None:
        """At most a hundred are asked for at once. Without a token it is the empty one; what is missing is left out."""
        read.side_effect = [
            {"Responses": {"items": [marshal({"sk": 1, "token": "t"}), marshal({"sk": 2})]}},
            {"Responses": {}},
        ]
        monkeypatch.setattr(reading, "Deadline", Mock(return_value=Mock(spec=())))  # nothing is tried again
        assert stored_tokens(ITEMS, "a", range(1, 102), "token") == {1: "t", 2: ""}
        batches = [range(1, 101), range(101, 102)]
        assert [call.args for call in read.call_args_list] == [
            ("batch_get_item", read_many(ITEMS, [("a", value) for value in batch], attributes=["token"]))
            for batch in batches
        ]
        assert [call.kwargs for call in read.call_args_list] == [{"client": "other"}] * 2

    def test_what_is_left_out(self, read: Mock) -> None:
        """It is asked for again, and added."""
        left = {"items": {"Keys": [marshal({"pk": "a", "sk": 2})]}}
        read.side_effect = [
            {"Responses": {"items": [marshal({"sk": 1, "token": "t"})]}, "UnprocessedKeys": left},
            {"Responses": {"items": [marshal({"sk": 2, "token": "u"})]}, "UnprocessedKeys": {}},
        ]
        assert stored_tokens(ITEMS, "a", [1, 2], "token") == {1: "t", 2: "u"}
        assert read.call_args.args == ("batch_get_item", read_rest(left))

    def test_an_engine_that_returns_nothing(self, read: Mock, monkeypatch: pytest.MonkeyPatch) -> None:
        """The time of a call bounds the answers without any row, and each row begins it again."""
        left = {"items": {"Keys": [marshal({"pk": "a", "sk": 2})]}}
        nothing, something = (
            {"Responses": {"items": rows}, "UnprocessedKeys": left} for rows in ([], [marshal({"sk": 1})])
        )
        read.side_effect = [nothing, something, nothing, nothing]
        deadlines = [Mock(), Mock(try_again=Mock(side_effect=[None, NotWritten("over")]))]
        monkeypatch.setattr(reading, "Deadline", Mock(side_effect=deadlines))
        with pytest.raises(NotWritten, match="over"):
            stored_tokens(ITEMS, "a", [1, 2], "token")
        assert [deadline.try_again.call_count for deadline in deadlines] == [1, 2]
