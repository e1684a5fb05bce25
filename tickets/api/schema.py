"""What the document of the API says beyond its views: problems, headers, examples, and that bodies are closed."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema

from sequences.rest.answers import MEDIA_TYPE
from sequences.rest.idempotency import IDEMPOTENCY_KEY
from sequences.rest.problems import Problem
from tickets.access.actions import NEEDED, OF_OWN, Action
from tickets.access.checks import Need
from tickets.api.examples import OF_PARAMETERS, OF_SHAPES
from tickets.api.exceptions import ANSWERS
from tickets.characters import SEEN

Json = dict[str, Any]

TEXT: Json = {"type": "string"}
WHOLE: Json = {"type": "integer"}
# The shapes of texts, to which each field adds its own limits.
OF_TEXTS: Json = {
    "VisibleText": {
        **TEXT,
        "description": "A text with visible characters. Spaces around it are removed.",
        "pattern": SEEN,
    },
    "VisibleTextOrNothing": {
        **TEXT,
        "description": "A text with visible characters, or none. Spaces around it are removed; one of spaces is empty.",
        "pattern": f"^[ \\t\\n\\r]*$|{SEEN}",
    },
}
WRONG: Json = {
    "type": "object",
    "description": "What is wrong, and where: in the body, in a parameter of the address, or in a header.",
    "properties": {
        "pointer": {**TEXT, "description": "A JSON pointer into the body, such as /labels/2."},
        "parameter": TEXT,
        "header": TEXT,
        "detail": TEXT,
    },
    "required": ["detail"],
}
PROBLEM: Json = {
    "type": "object",
    "description": "An error, as in RFC 9457.",
    "properties": {
        "type": {**TEXT, "format": "uri-reference", "description": "A page that explains the code."},
        "title": TEXT,
        "status": WHOLE,
        "detail": {**TEXT, "description": "What happened and what helps, for people."},
        "code": {**TEXT, "enum": sorted({row.code for row in ANSWERS.rows.values()})},
        "instance": {**TEXT, "description": "The path of the request."},
        "errors": {"type": "array", "items": WRONG},
        "request_id": {**TEXT, "description": "Also in the header X-Request-Id, and in the log."},
        "current": {"description": "The thing as it is now, if a change of it was refused."},
        "outcome_unknown": {"type": "boolean", "description": "Whether the request may have been carried out."},
    },
    "required": ["type", "title", "status", "detail", "code", "instance"],
}
IF_NONE_MATCH: Json = {
    "in": "header",
    "name": "If-None-Match",
    "schema": TEXT,
    "description": "ETags that you have. If one is the present one, the answer is 304, without a body.",
}
HEADERS: dict[str, Json] = {
    "X-Request-Id": {"schema": TEXT, "description": "The name of the request in the log: yours, or a new one."},
    "RateLimit": {"schema": TEXT, "description": "How many requests are left, and the seconds until there are more."},
    "RateLimit-Policy": {"schema": TEXT, "description": "How many requests are allowed, and in how many seconds."},
    "Retry-After": {"schema": WHOLE, "description": "The seconds after which a repeat may help."},
    "WWW-Authenticate": {"schema": TEXT, "description": "How to say who you are."},
    "Location": {"schema": {**TEXT, "format": "uri-reference"}, "description": "The address of what is meant."},
    "ETag": {"schema": TEXT, "description": "The version of what the answer shows, for If-Match and If-None-Match."},
    "Link": {"schema": TEXT, "description": "The addresses of the pages beside this one, by RFC 8288."},
}
PLACED = {"invoices_void_create", "tickets_move_create"}  # make nothing new, and say in `Location` what they changed
UNPLACED = {"projects_members_update", "projects_tickets_bulk_create"}  # make it at the same address, or many at once


class Document(AutoSchema):
    """The schema of an operation. A DELETE may have a body, too."""

    def get_description(self) -> str:  # type: ignore[override] # as in its own base class
        """What the operation does, and the role or the permission that it takes."""
        need: Need = getattr(self.view, "needs", {}).get(self.method)
        return "\n\n".join(filter(None, [super().get_description(), _taken(need)]))

    def _get_request_body(self, direction: str = "request") -> Any:
        if self.method == "DELETE" and self.get_request_serializer() is not None:
            self.method = "PUT"
            try:
                return super()._get_request_body(direction)  # type: ignore[no-untyped-call]
            finally:
                self.method = "DELETE"
        return super()._get_request_body(direction)  # type: ignore[no-untyped-call]


def _taken(need: Need) -> str:
    """What a caller must have, in words; nothing, if everybody who is signed in may do it."""
    if need is None:
        return ""
    if not isinstance(need, Action):
        return f"It takes the permission `{need}`."
    role = f"It takes the role `{NEEDED[need]}` in the project"
    return f"{role}, and `{NEEDED[OF_OWN[need]]}` for tickets of others." if need in OF_OWN else f"{role}."


class Closed(OpenApiSerializerExtension):
    """The schema of a body of a request, which has no other fields."""

    target_class = "tickets.api.shapes.RequestBody"
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: str) -> Json:
        """The schema, closed."""
        fields = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        return {**fields, "additionalProperties": False}


def completed(result: Json, **_: Any) -> Json:
    """The document, with problems, headers, and examples."""
    components = result.setdefault("components", {})
    components["headers"] = HEADERS
    shapes = components.setdefault("schemas", {})
    shapes |= {"Problem": PROBLEM, **OF_TEXTS}
    for name, example in OF_SHAPES.items():
        shapes[name]["examples"] = [example]
    for path, operations in result["paths"].items():
        for method, operation in operations.items():
            _complete(operation, path, method)
            if body := operation.get("requestBody"):
                body["required"] = any(_has_required(content["schema"], shapes) for content in body["content"].values())
    return result


def _has_required(schema: Json, shapes: Json) -> bool:
    """Whether a body of this schema has fields that cannot be left out."""
    shape = shapes[schema["$ref"].rpartition("/")[2]]
    return bool(shape.get("required") or "oneOf" in shape)


def _complete(operation: Json, path: str, method: str) -> None:
    if method == "get" and "application/json" in operation["responses"]["200"]["content"]:
        operation["parameters"] = [*operation.get("parameters", ()), {**IF_NONE_MATCH}]
        operation["responses"]["304"] = {"description": "The caller has what is there now."}
    for parameter in operation.get("parameters", ()):
        if example := OF_PARAMETERS.get(parameter["name"]):
            parameter["example"] = example(path)
    answers = operation["responses"]
    for status in _refusals(operation, path, method):
        answers.setdefault(str(status.value), _refusal(status))
    for status, answer in answers.items():
        names = _headers(operation, int(status), answer)
        answer.setdefault("headers", {}).update({name: {"$ref": f"#/components/headers/{name}"} for name in names})


def _refusals(operation: Json, path: str, method: str) -> Iterator[HTTPStatus]:
    """The statuses of the problems that an operation may answer with."""
    yield from map(HTTPStatus, (400, 401, 403, 406, 429, 500, 503))
    sent = _sent(operation)
    if "{" in path or "company" in sent:  # both name something that may not be there
        yield HTTPStatus.NOT_FOUND
    if "{key}" in path:
        yield HTTPStatus.PERMANENT_REDIRECT
    if method != "get":
        yield from map(HTTPStatus, (409, 413))
    if "requestBody" in operation:
        yield HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    if IDEMPOTENCY_KEY in sent:
        yield HTTPStatus.UNPROCESSABLE_ENTITY
    if "If-Match" in sent:
        yield HTTPStatus.PRECONDITION_FAILED
        if method != "post":  # an action needs no version: it does the same, whatever the others have changed
            yield HTTPStatus.PRECONDITION_REQUIRED


def _sent(operation: Json) -> set[str]:
    return {parameter["name"] for parameter in operation.get("parameters", ())}


def _refusal(status: HTTPStatus) -> Json:
    if status < HTTPStatus.BAD_REQUEST:
        return {"description": "The same thing is at the address in `Location`: send the request there."}
    row = next(row for row in ANSWERS.rows.values() if row.status == status)
    content = {"schema": {"$ref": "#/components/schemas/Problem"}, "example": _example(row)}
    return {"description": status.phrase, "content": {MEDIA_TYPE: content}}


def _example(row: Problem) -> Json:
    return {
        "type": f"/problems/#{row.code}",
        "title": row.title,
        "status": row.status,
        "detail": row.words(ANSWERS.remedies),
        "code": row.code,
        "instance": "/api/tickets/ABC-42/",
        "request_id": "3f1c0d6d1f2b4c7a",
    }


def _headers(operation: Json, status: int, answer: Json) -> Iterator[str]:
    """The headers that an answer has, beside those that its view declares."""
    yield "X-Request-Id"
    if status in (429, 503):
        yield "Retry-After"
    if status == HTTPStatus.UNAUTHORIZED:
        yield "WWW-Authenticate"
    if operation.get("security"):
        yield from ("RateLimit", "RateLimit-Policy")
    name = operation["operationId"]
    if status == 308 or (status == 201 and name not in UNPLACED) or (status == 200 and name in PLACED):
        yield "Location"
    if status in (200, 304, 308) and {"If-Match", "If-None-Match"} & _sent(operation):
        yield "ETag"
    if "Page" in str(answer.get("content")):
        yield "Link"
