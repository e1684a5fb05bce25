"""What the page of the API shows, made of its document: each operation with a call by curl, and each shape of JSON."""

import json
import re
import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from drf_spectacular.settings import spectacular_settings

Json = dict[str, Any]
TYPES = {"array": "list", "boolean": "true or false", "integer": "whole number", "object": "object", "string": "text"}
FORMATS = {"date": "date", "date-time": "time", "uri": "address"}  # of a text


@cache
def reference() -> Mapping[str, Any]:
    """The operations by their tags, and the shapes. A process makes it once: about a second, and no request."""
    document = spectacular_settings.DEFAULT_GENERATOR_CLASS().get_schema(request=None, public=True)
    shapes = document["components"]["schemas"]
    groups = defaultdict[str, list[Json]](list)
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            groups[operation["tags"][0]].append(_operation(path, method, operation, shapes))
    objects = {name: shape for name, shape in shapes.items() if "properties" in shape}
    return {"groups": dict(sorted(groups.items())), "shapes": [_shape(name, objects[name], shapes) for name in objects]}


def _operation(path: str, method: str, operation: Json, shapes: Json) -> Json:
    """What is said of one operation."""
    body = _schema(operation.get("requestBody", {}))
    return {
        "id": operation["operationId"],
        "method": method.upper(),
        "path": path,
        "about": in_words(operation["description"]),
        "parameters": [_parameter(one, shapes) for one in operation.get("parameters", ()) if one["in"] != "path"],
        "body": kind(body, shapes),
        "answers": [*_answers(operation["responses"], shapes)],
        "refusals": sorted(status for status in operation["responses"] if status >= "400"),
        "call": _call(path, method, operation, _example(body, shapes) if body else None),
    }


def _parameter(parameter: Json, shapes: Json) -> Json:
    return {**_part(parameter["name"], parameter["schema"] | parameter, shapes), "place": parameter["in"]}


def _part(name: str, schema: Json, shapes: Json) -> Json:
    """What is said of a parameter or a field."""
    about = schema.get("description", "")
    return {
        "name": name,
        "kind": kind(schema.get("schema", schema), shapes),
        "about": in_words("" if about.startswith("* ") else about),  # a list of the values, which `kind` says
    }


def _shape(name: str, shape: Json, shapes: Json) -> Json:
    required = shape.get("required", ())
    fields = [
        {**_part(field, schema, shapes), "optional": field not in required}
        for field, schema in shape["properties"].items()
    ]
    return {"name": name, "about": in_words(shape.get("description", "")), "fields": fields}


def _answers(responses: Json, shapes: Json) -> Iterator[Json]:
    """The answers that are no errors: their statuses, what is in them, and what else is said."""
    for status, answer in sorted(responses.items()):
        if status < "400":
            what = kind(_schema(answer), shapes)
            yield {"status": status, "kind": what, "about": in_words(answer.get("description", ""))}


def _schema(part: Json) -> Json:
    """The schema of a body; an empty one for no body. All media types of a body have the same."""
    contents: list[Json] = [*part.get("content", {}).values()]
    return contents[0]["schema"] if contents else {}


def _example(schema: Json, shapes: Json) -> Any:
    """The first example of a shape, or of the first one of a choice."""
    shape = shapes[_name(schema)]
    return _example(shape["oneOf"][0], shapes) if "oneOf" in shape else shape["examples"][0]


def _call(path: str, method: str, operation: Json, body: Any) -> str:
    """The operation as a command of curl."""
    examples = {one["name"]: str(one.get("example")) for one in operation.get("parameters", ())}
    address = re.sub(r"{(\w+)}", lambda found: examples[found[1]], path).removeprefix("/api")
    words = ["curl", "" if method == ("post" if body else "get") else f"-X {method.upper()}"]
    words += ['-H "$AUTH"'] if operation.get("security") else []
    words += [f"--json {shlex.quote(json.dumps(body))}"] if body else []
    return " ".join(filter(None, [*words, f"$API{address}"]))


def kind(schema: Json, shapes: Json) -> SafeString:
    """The values of a schema in words, with links to the shapes in them."""
    if "$ref" in schema:
        shape = shapes[_name(schema)]
        return format_html('<a href="#{0}">{0}</a>', _name(schema)) if "properties" in shape else kind(shape, shapes)
    if "enum" in schema:
        return format_html_join(", ", "<code>{}</code>", ((value,) for value in schema["enum"]))
    for choice in ("oneOf", "anyOf") if "type" not in schema else ():
        if choice in schema:
            return format_html_join(" or ", "{}", ((kind(one, shapes),) for one in schema[choice]))
    if schema.get("type") == "array":
        return format_html("list of {}", kind(schema["items"], shapes)) if schema["items"] else SafeString("list")
    if "type" not in schema and "allOf" in schema:
        return kind(schema["allOf"][0], shapes)
    return SafeString(escape(" or ".join(_simple(schema))) + _range(schema))


def _simple(schema: Json) -> Iterator[str]:
    types = schema.get("type", ())
    for name in [types] if isinstance(types, str) else types:
        said = TYPES.get(name, name)
        yield FORMATS.get(schema.get("format", ""), said) if name == "string" else said


def _range(schema: Json) -> str:
    """The limits of a number, and what it is if it is left out."""
    least, most = schema.get("minimum"), schema.get("maximum")
    limits = "" if most is None or most > 10**6 else f" from {least} to {most}"
    return limits + (f", {schema['default']} if left out" if "default" in schema else "")


def _name(schema: Json) -> str:
    """The name of the shape to which a schema leads."""
    return str(schema["$ref"].rpartition("/")[2])


def in_words(text: str) -> SafeString:
    """A description, with what is in backquotes as code."""
    return mark_safe(re.sub("`([^`]+)`", r"<code>\1</code>", escape(text)))  # noqa: S308 - it is escaped
