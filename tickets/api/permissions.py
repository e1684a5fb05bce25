"""The door of REST. Every view says in `needs` what each of its methods takes; a view that says nothing is closed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rest_framework.exceptions import APIException
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request

from tickets.access.actions import Action
from tickets.access.checks import Need, admit

if TYPE_CHECKING:
    from rest_framework.views import APIView  # which needs this module, by its defaults in the settings

SIGNED_IN: Mapping[str, Need] = {}
"""The needs of a view of no project that lets everybody in who is signed in."""


class Door(IsAuthenticated):
    """Lets only those in who have what the method takes: an action in the project of the address, or a permission.

    HEAD takes what GET takes. Any other method that the view does not declare takes the sight of the project; where
    there is none, only that somebody is signed in. One that it does not have is refused afterwards.
    """

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Whether a caller is signed in. Raises the errors of `access.checks.admit` for one who may not do this."""
        if not super().has_permission(request, view):
            return False
        needs: Mapping[str, Need] | None = getattr(view, "needs", None)
        if needs is None:
            raise Undeclared
        key = view.kwargs.get("key")
        other = needs.get("GET", None if key is None else Action.READ)
        admit(request.user, needs.get(request.method or "", other), key)
        return True


class Undeclared(APIException):
    """The view does not say what its methods take: a mistake of ours."""

    status_code = 403
    default_detail = "This address is closed: its view does not declare `needs`."
