"""The door of REST: what each method of a view takes."""

from types import SimpleNamespace
from typing import Any

import pytest

from tickets.access.actions import Action
from tickets.api import permissions
from tickets.api.permissions import SIGNED_IN, Door, Undeclared

BOTH = {"GET": Action.READ, "POST": Action.FILE}


@pytest.fixture
def admitted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any, Any]]:
    """Who was asked for what, in which project."""
    asked = list[tuple[Any, Any, Any]]()
    monkeypatch.setattr(permissions, "admit", lambda *about: asked.append(about))
    return asked


def asks(method: str | None, view: Any, *, signed_in: bool = True) -> bool:
    """Whether somebody with a request by this method is let in."""
    person = SimpleNamespace(is_authenticated=signed_in)
    request: Any = SimpleNamespace(user=person, method=method)
    return bool(Door().has_permission(request, view))


@pytest.mark.parametrize(
    ("needs", "method", "key", "need"),
    [
        (BOTH, "GET", "ABC", Action.READ),
        (BOTH, "HEAD", "ABC", Action.READ),
        (BOTH, "POST", "ABC", Action.FILE),
        (BOTH, "DELETE", "ABC", Action.READ),
        ({"GET": "x.view", "POST": "x.add"}, "OPTIONS", None, "x.view"),
        ({"POST": Action.MOVE}, "GET", "ABC", Action.READ),
        ({"POST": "x.add"}, "GET", None, None),
        ({"POST": "x.add"}, None, None, None),
        (SIGNED_IN, "DELETE", None, None),
    ],
)
def test_what_a_method_takes(admitted: list[Any], needs: Any, method: str | None, key: str | None, need: Any) -> None:
    """What the view declares; otherwise what GET takes, or the sight of the project, or nothing where there is none."""
    assert asks(method, SimpleNamespace(needs=needs, kwargs={"key": key} if key else {}))
    assert [about[1:] for about in admitted] == [(need, key)]


def test_who_is_not_signed_in_is_asked_for_nothing_more(admitted: list[Any]) -> None:
    """They are not let in."""
    assert not asks("GET", SimpleNamespace(needs=BOTH, kwargs={}), signed_in=False)
    assert admitted == []


def test_a_view_that_says_nothing_is_closed(admitted: list[Any]) -> None:
    """A mistake of ours lets nobody in."""
    with pytest.raises(Undeclared) as closed:
        asks("GET", SimpleNamespace(kwargs={}))
    assert closed.value.status_code == 403
    assert admitted == []
