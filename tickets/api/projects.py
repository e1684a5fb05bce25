"""The views of projects and their members: validate, call, serialize, respond. Errors are answered in `exceptions`."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from sequences.rest.idempotency import replay_headers
from tickets import project_services, selectors
from tickets.access import members
from tickets.access.actions import Action
from tickets.access.checks import ADD_PROJECT, require_project_in_sight, seen_by
from tickets.accounts.sign_in import author
from tickets.api.bodies import CHANGE_PARSERS
from tickets.api.requests import (
    REPEATABLE,
    Flag,
    PageQuery,
    asked,
    key_of,
    page_of,
    page_response,
    sent,
)
from tickets.api.serializers import (
    MemberRole,
    MemberSerializer,
    NewProject,
    ProjectArchiving,
    ProjectChange,
    ProjectSerializer,
)
from tickets.api.versions import IF_MATCH, expected_version, tagged
from tickets.api.views import ProjectView
from tickets.types import Project


class ProjectQuery(PageQuery):
    """The parameters of a page of projects."""

    archived = Flag(default=False, help_text="Whether archived projects are listed, too.")


class ProjectList(APIView):
    """The projects that the caller may see."""

    needs = {"POST": ADD_PROJECT}

    @extend_schema("projects_list", parameters=[ProjectQuery], responses=page_of(ProjectSerializer))
    def get(self, request: Request) -> Response:
        """One page of projects: the staff see all of them, others those that they may read.

        It costs 3 reads, or 1 for the staff; where archived projects are left out, up to 15, or 8.
        """
        projects = selectors.list_projects(seen_by=seen_by(request.user), **asked(request, ProjectQuery))
        return page_response(request, projects, ProjectSerializer)

    @extend_schema(parameters=REPEATABLE, request=NewProject, responses={201: ProjectSerializer})
    def post(self, request: Request) -> Response:
        """Make a project. The caller is its first owner. A repeat answers with the project as it is now."""
        content = sent(request, NewProject)
        made = project_services.create_project(**content, by=author(request), idempotency_token=key_of(request))
        require_project_in_sight(request.user, made)
        location = reverse("api:project", [made.value.key], request=request)
        headers = {"Location": location, **replay_headers(made.replayed)}
        return project_response(made.value, status=201, headers=headers)


class ProjectDetail(ProjectView):
    """One project."""

    needs = {"GET": Action.READ, "PATCH": Action.EDIT_PROJECT}
    parser_classes = CHANGE_PARSERS
    of_any_key = {"PATCH"}  # a rename replaces the key in its address: otherwise a late repeat would undo a later one

    @extend_schema(responses=ProjectSerializer)
    def get(self, request: Request, key: str) -> Response:
        """The project."""
        return project_response(selectors.get_project(key))

    @extend_schema(parameters=[IF_MATCH], request=ProjectChange, responses=ProjectSerializer)
    def patch(self, request: Request, key: str) -> Response:
        """Change some fields of the project. A stale version is refused with 409, a stale ETag with 412.

        Its tickets keep their numbers under a new key, and the former key leads to them for ever. A key that names or
        named another project is refused with 409; a project may take its own former key again. A rename names the key
        that it replaces: of two renames one wins, and a late repeat undoes nothing. Another process may show the former
        key for up to 30 seconds. A rename costs 1 read and 10 write units.
        """
        changes = sent(request, ProjectChange)
        with expected_version(request, changes) as version:
            changes.pop("version", None)
            project = project_services.update_project(key, version=version, changes=changes, by=author(request))
        return project_response(project)


class ProjectArchive(ProjectView):
    """The way of a project into the archive, where it can only be read."""

    needs = {"POST": Action.ARCHIVE}
    archived = True

    @extend_schema(parameters=[IF_MATCH], request=ProjectArchiving, responses=ProjectSerializer)
    def post(self, request: Request, key: str) -> Response:
        """Put the project into the archive, or take it out. A repeat changes nothing. A stale version is refused.

        An archived project can only be read: every change is refused with 409.
        """
        with expected_version(request, sent(request, ProjectArchiving), required=False) as version:
            project = project_services.archive_project(key, archived=self.archived, version=version, by=author(request))
        return project_response(project)


class MemberList(ProjectView):
    """The members of a project."""

    needs = {"GET": Action.READ}

    @extend_schema("projects_members_list", parameters=[PageQuery], responses=page_of(MemberSerializer))
    def get(self, request: Request, key: str) -> Response:
        """One page of members, by the first letters of their names. It costs 2 reads."""
        return page_response(request, members.list_members(key, **asked(request, PageQuery)), MemberSerializer)


class MemberDetail(ProjectView):
    """One member of a project."""

    needs = {"GET": Action.READ, "PUT": Action.MANAGE_MEMBERS, "DELETE": Action.MANAGE_MEMBERS}

    @extend_schema(responses=MemberSerializer)
    def get(self, request: Request, key: str, user: str) -> Response:
        """The member."""
        return Response(MemberSerializer.shown(members.get_member(key, user)))

    @extend_schema(request=MemberRole, responses={200: MemberSerializer, 201: MemberSerializer})
    def put(self, request: Request, key: str, user: str) -> Response:
        """Give a person a role: 201 for a new member. The last owner of a project stays one: 409.

        Other processes follow within 5 seconds. It costs 2 reads and 6 write units.
        """
        member, is_new = members.set_member(key, user, **sent(request, MemberRole), by=author(request))
        return Response(MemberSerializer.shown(member), status=201 if is_new else 200)

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: Request, key: str, user: str) -> Response:
        """Take the person's role away. What everybody may do in the project remains. The last owner stays: 409.

        It costs as much as giving a role.
        """
        members.remove_member(key, user, by=author(request))
        return Response(status=204)


def project_response(project: Project, **options: Any) -> Response:
    """The answer with a project and its ETag."""
    return tagged(ProjectSerializer.shown(project), project.version, **options)
