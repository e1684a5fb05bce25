"""The page of the reference about the sample's REST API, made of its document of OpenAPI."""

import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Any

from sequences.rest.problems import Problem
from tickets.api.reference import reference
from tickets.problems import listed

Part = Mapping[str, Any]
BEGINNING = """# The REST API of the sample

[How to use it](../rest.md) has the rules for all calls. `$API` is the address of `/api/`, and `$AUTH` is
`Authorization: Bearer tkt_…`. Costs are requests to DynamoDB and its units, if each row has at most 1 KB. A key is an
`Idempotency-Key`."""


def api_page() -> Iterator[str]:
    """The lines of the page: each operation by its tag, then each shape of JSON, and each problem."""
    made = reference()
    yield BEGINNING
    for group, operations in made["groups"].items():
        yield f"\n## {group.capitalize()}"
        for one in operations:
            yield from _operation(one)
    yield "\n## Shapes"
    for shape in made["shapes"]:
        yield from _shape(shape)
    yield "\n## Problems\n"
    yield from map(_problem, listed())


def _operation(one: Part) -> Iterator[str]:
    """What an operation does, what is sent and what is answered, and a call."""
    yield f"\n### {one['method']} {one['path']}\n\n{_in_markdown(one['about'])}\n"
    yield from (_entry(f"`{part['name']}` ({part['place']})", part) for part in one["parameters"])
    if one["body"]:
        yield _entry("Body", {"kind": one["body"]})
    yield from (_entry(answer["status"], answer) for answer in one["answers"])
    yield _entry("Errors", {"kind": ", ".join(one["refusals"])})
    yield f"\n```console\n$ {one['call']}\n```"


def _shape(shape: Part) -> Iterator[str]:
    """What an object of JSON stands for, and its fields."""
    yield f"\n### {shape['name']}\n\n{_in_markdown(shape['about'])}\n"
    for field in shape["fields"]:
        yield _entry(f"`{field['name']}`{' (optional)' if field['optional'] else ''}", field)


def _problem(row: Problem) -> str:
    """When a code is answered, and what to do then."""
    return f"- `{row.code}` ({row.status}): {row.detail} {row.advice or row.remedy.value}".rstrip()


def _entry(name: str, part: Part) -> str:
    """A line of a list: what a part is called, its values, and what else is said of it."""
    said = [f"{part['kind']}{'.' if part['kind'] else ''}", *part.get("about", "").split()]
    return f"- {name}: {_in_markdown(' '.join(filter(None, said)))}".rstrip(": ")


def _in_markdown(said: str) -> str:
    """The same, with links to headings of the page; what is computed for a page of HTML is made Markdown."""
    linked = re.sub(r'<a href="#(\w+)">\w+</a>', lambda found: f"[{found[1]}](#{found[1].lower()})", said)
    return unescape(re.sub("</?code>", "`", linked))
