"""What the tests of the API read from its answers."""

from typing import Any


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
