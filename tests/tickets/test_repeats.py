"""Repeated requests: what names them, and what is said when what they stored cannot be read."""

import pytest

from sequences.exceptions import SequenceUnavailable, StorageError
from tickets.exceptions import InvalidInput
from tickets.repeats import fingerprint, stored_already, token_of


def test_fields_have_no_order() -> None:
    """Two requests ask for the same if their fields have the same values, in any order."""
    assert fingerprint({"title": "x", "status": "open"}) == fingerprint({"status": "open", "title": "x"})
    assert fingerprint({"title": "x"}) != fingerprint({"title": "y"})


def test_a_token_belongs_to_a_person_and_a_part() -> None:
    """The same token of another person, or for another part of a request, names something else."""
    assert token_of("ann", None) is None
    names = [token_of("ann", "k"), token_of("bob", "k"), token_of("ann", "k", 0), token_of("ann", "k", 1)]
    assert len(set(names)) == 4
    with pytest.raises(InvalidInput):
        token_of("ann", "")


def test_a_repeat_after_an_upgrade() -> None:
    """A request names the same in every release: with another digest its late repeat would be carried out again."""
    assert token_of("ann", "k") == "b4ba5b1aca3e62dece1cf13803afd8582868e39856e1f2a674ada5c651af4ebd"
    assert (
        fingerprint({"title": "x", "number": 1}) == "9fbb6a063aa63b3c4cb7ff266b8cce0567d6cc2e2ad84e16f1a3bd2c0fb1692b"
    )


def test_what_is_stored_is_not_denied() -> None:
    """An error of the read of what is stored says that the request may have been carried out, in one attempt."""
    with pytest.raises(SequenceUnavailable, match="cannot be read: Refused") as caught, stored_already():
        raise StorageError("Refused.")
    assert caught.value.outcome_unknown
    assert (caught.value.attempts, caught.value.seconds) == (1, 0.0)
