"""What the views of a project and of its tickets have in common."""

from collections.abc import Collection
from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from tickets import addresses, selectors
from tickets.access.checks import hiding
from tickets.api.requests import FormerKey
from tickets.exceptions import TicketMoved
from tickets.types import TicketKey


class ProjectView(APIView):
    """A view of a project or its tickets. A ticket that has moved out of the caller's sight is not found.

    A caller with access is sent from a former key of the project to the present one.
    """

    of_any_key: ClassVar[Collection[str]] = ()
    """The methods that are not sent on, as the key in their address is the one that they are about."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Check who asks, then the key."""
        super().initial(request, *args, **kwargs)
        if request.method in {*self.allowed_methods} - {*self.of_any_key}:
            present = addresses.present(kwargs["key"])
            if present != kwargs["key"]:
                raise FormerKey(present)

    def options(self, request: Any, *args: Any, **kwargs: Any) -> Response:
        """The methods of the address. A ticket that GET does not find is not found: that costs a read."""
        if isinstance(kwargs["key"], TicketKey):
            selectors.get_ticket(kwargs["key"])
        return super().options(request, *args, **kwargs)

    def handle_exception(self, exc: Exception) -> Response:
        """The answer to an error. Only for a ticket that has moved it asks who the caller is: that may fail, too."""
        if isinstance(exc, TicketMoved):
            exc = hiding(exc, self.request.user)
        return super().handle_exception(exc)
