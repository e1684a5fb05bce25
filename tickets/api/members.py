"""The views of the members of a project: validate, call, serialize, respond. Errors are answered in `exceptions`."""

from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework.request import Request
from rest_framework.response import Response

from tickets.access import members
from tickets.access.actions import Action
from tickets.api.pagination import NoQuery, asked
from tickets.api.requests import author, sent
from tickets.api.serializers import MemberRole, MemberSerializer
from tickets.api.views import ProjectView

ALL = inline_serializer("Members", {"results": MemberSerializer(many=True)})


class MemberList(ProjectView):
    """The members of a project."""

    needs = {"GET": Action.READ}

    @extend_schema("projects_members_list", responses=ALL)
    def get(self, request: Request, key: str) -> Response:
        """All members, by name. A project has at most 1,000."""
        asked(request, NoQuery)
        return Response({"results": [MemberSerializer(member).data for member in members.list_members(key)]})


class MemberDetail(ProjectView):
    """One member of a project."""

    needs = {"GET": Action.READ, "PUT": Action.MANAGE_MEMBERS, "DELETE": Action.MANAGE_MEMBERS}

    @extend_schema(responses=MemberSerializer)
    def get(self, request: Request, key: str, user: str) -> Response:
        """The member."""
        return Response(MemberSerializer(members.get_member(key, user)).data)

    @extend_schema(request=MemberRole, responses={200: MemberSerializer, 201: MemberSerializer})
    def put(self, request: Request, key: str, user: str) -> Response:
        """Give a person a role: 201 for a new member. The last owner of a project stays one: 409.

        Other processes follow within 5 seconds. It costs 1 read, 2 write units for each KB of the project's row, and 2
        more.
        """
        member, is_new = members.set_member(key, user, **sent(request, MemberRole), by=author(request))
        return Response(MemberSerializer(member).data, status=201 if is_new else 200)

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request, key: str, user: str) -> Response:
        """Take the person's role away. What everybody may do in the project remains. The last owner stays: 409.

        It costs as much as giving a role.
        """
        members.remove_member(key, user, by=author(request))
        return Response(status=204)
