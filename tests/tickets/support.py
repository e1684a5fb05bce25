"""What the tests of the API read from its answers."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Document = dict[str, Any]
OUTLINE = Path(__file__).with_name("api_outline.txt")


def has_word(response: Any, word: str) -> bool:
    """Whether an answer has a word. Random tokens in a page may have its letters."""
    return re.search(rf"\b{word}\b", response.content.decode()) is not None


def problem_of(response: Any) -> dict[str, Any]:
    """The members of an answer that is a problem, whose status is its own."""
    assert response["Content-Type"] == "application/problem+json"
    problem: dict[str, Any] = response.json()
    assert problem["status"] == response.status_code
    return problem


def wrong_fields(response: Any) -> set[str]:
    """The fields, parameters and headers that an answer names as wrong; "" stands for the whole body."""
    errors = problem_of(response)["errors"]
    assert all(error["detail"] for error in errors)
    named = [error.get("parameter") or error.get("header") or error["pointer"].lstrip("/") for error in errors]
    return {name.partition("/")[0] for name in named}


def places(response: Any) -> set[str]:
    """The places that an answer names as wrong: parameters, headers, and pointers into the body."""
    errors = problem_of(response)["errors"]
    return {error.get("parameter") or error.get("header") or error["pointer"] for error in errors}


def outlined(document: Document) -> str:
    """What the document of the API says without words: lines for each operation and each shape."""
    return "".join(f"{line}\n" for line in _outline(document))


def _outline(document: Document) -> Iterator[str]:
    """A line for each operation, each of its parameters, bodies and kinds of answers, and each shape."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path} {operation['operationId']} {json.dumps(operation.get('security', []))}"
            yield from (f"    {said}" for said in operation["description"].splitlines() if said.startswith("It takes "))
            yield from (f"    {_wordless(one)}" for one in operation.get("parameters", ()))
            if body := operation.get("requestBody"):
                yield f"    {'body' if body['required'] else 'body, or none:'} {_contents(body)}"
            answers = defaultdict(list)
            for status, answer in operation["responses"].items():
                answers[f"{_contents(answer)}, {', '.join(answer['headers'])}"].append(status)
            yield from (f"    {' '.join(statuses)} {answer}" for answer, statuses in answers.items())
    for kind in ("headers", "schemas"):
        yield from (f"{name} {_wordless(shape)}" for name, shape in document["components"][kind].items())


def _contents(part: Document) -> str:
    """What a body may be."""
    return " ".join(f"{kind} {_wordless(one['schema'])}" for kind, one in part.get("content", {}).items()) or "nothing"


def _wordless(part: Any) -> str:
    """A part of the document without descriptions and examples; other shapes by their names."""

    def kept(part: Any) -> Any:
        if isinstance(part, list):
            return [kept(one) for one in part]
        if not isinstance(part, dict):
            return part
        words = {name for name in ("description", "example", "examples") if not isinstance(part.get(name), dict)}
        return part.get("$ref", "").rpartition("/")[2] or {n: kept(one) for n, one in part.items() if n not in words}

    return json.dumps(kept(part)).replace('"', "")
