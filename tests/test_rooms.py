"""The rules of imports between rooms, and what every module must have, checked in the syntax trees of all modules.

tests -> project -> tickets -> sequences -> the standard library, Django, boto3
"""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from project.commands.docs import public_modules
from project.paths import ROOT

ROOMS = ("sequences", "tickets", "project", "tests")
# The packages that a room may import besides the standard library and the rooms below it.
BELOW = {"sequences": set(), "tickets": {"sequences"}, "project": {"sequences", "tickets"}}
FOREIGN = {
    "sequences": {"django"},
    "tickets": {"django"},
    "project": {"django", "dj_database_url"},
}
# Modules and folders that may import more, and why.
EXCEPTIONS = {
    "sequences/dynamodb/": {"boto3", "botocore", "mypy_boto3_dynamodb", "orjson", "urllib3"},  # the gate to DynamoDB
    "project/lab/": {"boto3", "mypy_boto3_dynamodb", "rich"},  # the published recipes, and tables in colours
    "sequences/metrics/prometheus.py": {"prometheus_client"},  # the optional recorders of metrics
    "sequences/metrics/opentelemetry.py": {"opentelemetry"},
    "sequences/formats/digits.py": {"stdnum"},  # check digits
    "sequences/testing/": {"moto", "pytest"},  # fixtures and tests for applications
    "sequences/rest/": {"rest_framework"},  # the optional part for REST
    # Proofs read the engine without the product, measure other libraries, and print to the terminal.
    "project/proof/": {"boto3", "botocore", "mypy_boto3_dynamodb", "rich", "urllib3"},
    "project/proof/fuzz_hooks.py": {"schemathesis"},
    "project/proof/matrix.py": {"nox"},
    "project/proof/covering.py": {"coverage", "pytest"},
    "project/proof/peers/library_process.py": {"aioboto3", "dynamodb_autoincrement"},
    "project/proof/bare/": {"rest_framework"},
    "project/proof/peers/site/": {"orjson", "rest_framework"},
    # The only rooms that know the REST framework.
    "tickets/api/": {"rest_framework", "drf_spectacular", "orjson"},
    "tickets/sales/api/": {"rest_framework", "drf_spectacular"},
    "tickets/accounts/api/": {"rest_framework", "drf_spectacular"},
    "tickets/headers.py": {"csp"},  # the policy of what pages may load
    "tickets/middleware.py": {"django_htmx"},  # where htmx goes after a redirect
    "project/gunicorn.py": {"gunicorn"},  # its settings
    "project/gauges.py": {"prometheus_client"},  # what a web process is doing
    "project/worker.py": {"gunicorn", "waitress"},  # the processes of one, with the server of the other
    "project/sending.py": {"waitress"},  # its connections, as far as they send
    "project/turns.py": {"waitress"},  # its threads
    "tickets/markdown.py": {"markdown_it"},  # the texts that people write
    "tickets/timeline/api/": {"rest_framework", "drf_spectacular"},
    "tickets/store/timeline.py": {"cryptography"},  # the values in the history of a ticket
}

PARTS = ("body", "orelse", "finalbody", "handlers", "cases")
"""Where statements have other statements, and what has them."""


@dataclass(frozen=True)
class Module:
    """One file and its syntax tree."""

    path: str
    tree: ast.Module

    @property
    def name(self) -> str:
        """The dotted name."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def room(self) -> str:
        """The top-level folder."""
        return self.path.partition("/")[0]

    def imports(self) -> Iterator[str]:
        """The top-level packages that the module imports, anywhere in the file."""
        return (name.partition(".")[0] for name in self.imported())

    @cached_property
    def statements(self) -> list[ast.AST]:
        """The statements of the file, with those inside others. No expression has any: those are not walked through."""
        found, ahead = list[ast.AST](), list[ast.AST](self.tree.body)
        while ahead:
            found.append(ahead.pop())
            ahead += (inner for part in PARTS for inner in getattr(found[-1], part, ()))
        return found

    def imported(self) -> Iterator[str]:
        """The dotted names that the module imports, anywhere in the file."""
        for node in self.statements:
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                package = [*self.path.split("/")[: -node.level], *filter(None, [node.module])]
                start = ".".join(package) if node.level else node.module
                yield from (f"{start}.{alias.name}" for alias in node.names)

    def reaches(self, room: str) -> bool:
        """Whether a module outside a room, such as `sequences.testing`, imports something of this room."""
        inside = self.path.startswith(f"{room.replace('.', '/')}/")
        return not inside and any(f"{name}.".startswith(f"{room}.") for name in self.imported())

    def allowed(self) -> set[str]:
        """The packages that the module may import besides the standard library."""
        more = [names for place, names in EXCEPTIONS.items() if self.path.startswith(place)]
        return {self.room}.union(BELOW[self.room], FOREIGN[self.room], *more)

    def public_names(self) -> set[str]:
        """The functions and classes that the module defines, without those that begin with an underscore."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        names = {node.name for node in self.tree.body if isinstance(node, kinds)}
        return {name for name in names if not name.startswith("_")}

    def exported(self) -> list[str] | None:
        """The names in `__all__`, or None without it."""
        for node in self.tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and "__all__" in ast.unparse(node).partition("=")[0]:
                listed: list[str] = ast.literal_eval(node.value or ast.List([]))
                return listed
        return None


@cache
def in_room(room: str) -> list[Module]:
    """The modules of one room."""
    return [module_at(path) for path in sorted((ROOT / room).rglob("*.py"))]


def module_at(path: Path) -> Module:
    """The module that a file holds."""
    return Module(str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8")))


def of(*rooms: str) -> list[Module]:
    """The modules of some rooms."""
    return [module for room in rooms for module in in_room(room)]


def ours() -> list[Module]:
    """The modules of all rooms."""
    return of(*ROOMS)


def production() -> list[Module]:
    """The modules of the product: all except the tests and what serves them, the lab and the proof."""
    apart = ("project/lab/", "sequences/testing/", "project/proof/")
    return [module for module in of("sequences", "tickets", "project") if not module.path.startswith(apart)]


def exporting() -> list[Module]:
    """The modules of `sequences` from which an application may import."""
    return [module for module in of("sequences") if module.name in public()]


@pytest.mark.parametrize("room", BELOW)
def test_imports_go_only_down(room: str) -> None:
    """A room imports the rooms below it, Django, and what it has a stated reason for."""
    strangers = [
        f"{module.path} imports {name}"
        for module in of(room)
        for name in module.imports()
        if name not in module.allowed() and name not in sys.stdlib_module_names
    ]
    assert of(room)
    assert strangers == []


def test_no_module_needs_itself() -> None:
    """Within a room, too, imports go only down: no module imports itself by way of others."""
    dotted = {module.name: module for module in ours()}

    def module_of(name: str) -> str:
        return name if name in dotted or not name else module_of(name.rpartition(".")[0])

    graph = {name: {module_of(one) for one in module.imported()} - {name} for name, module in dotted.items()}
    assert sum(map(len, graph.values())) > len(dotted)
    TopologicalSorter(graph).prepare()  # raises CycleError


def test_one_folder_speaks_to_dynamodb() -> None:
    """Of what production runs, the folder `sequences/dynamodb` alone imports boto3 and botocore."""
    importing = {module.path for module in production() if {"boto3", "botocore"} & set(module.imports())}
    assert {path.rpartition("/")[0] for path in importing} == {"sequences/dynamodb"}


@pytest.mark.parametrize(
    ("room", "doors"),
    [
        ("project.lab", {"project/urls.py"}),  # a page shows its recorded runs
        ("sequences.testing", {"project/commands/serve.py", "sequences/management/engine.py"}),  # they start an engine
        ("project.proof", set()),
    ],
)
def test_production_needs_no_lab_no_tests_and_no_proof(room: str, doors: set[str]) -> None:
    """Of the product, nothing reaches into these rooms but the doors that are named."""
    assert {module.path for module in production() if module.reaches(room)} == doors


def test_the_core_does_without_the_part_for_rest() -> None:
    """Of `sequences`, only `sequences.rest` needs the REST framework, and nothing outside it imports it."""
    assert [module.path for module in of("sequences") if module.reaches("sequences.rest")] == []


def test_nothing_below_needs_what_operators_run() -> None:
    """Of `sequences`, only pages, commands, the test kit, and what runs at a start import `sequences.ops`."""
    above = ("sequences/admin/", "sequences/management/", "sequences/testing/")
    below = {module.path for module in of("sequences") if not module.path.startswith(above)}
    needing = {module.path for module in of("sequences") if module.reaches("sequences.ops")}
    assert needing & below == {"sequences/apps.py", "sequences/start.py"}


def public() -> set[str]:
    """The modules from which an application may import."""
    return set(public_modules())


def surface() -> set[str]:
    """The dotted names that the public modules export."""
    return {
        f"{module.name}.{name}"
        for module in of("sequences")
        if module.name in public()
        for name in module.exported() or ()
    }


def test_what_is_public_is_there() -> None:
    """Each module of the list exists and exports names."""
    assert len(public()) > 20
    assert public() - {name.rpartition(".")[0] for name in surface()} == set()


def test_a_public_name_goes_by_the_rules() -> None:
    """Every public name is in the record. One that goes stays there, as "name deprecated=0.3.0 gone=0.4.0"."""
    lines = (ROOT / "tests" / "public_names.txt").read_text(encoding="utf-8").splitlines()
    record = {name: dict(mark.split("=") for mark in marks) for name, *marks in map(str.split, lines)}
    gone = {name: marks for name, marks in record.items() if "gone" in marks}
    assert surface() == record.keys() - gone.keys()
    for name, marks in gone.items():
        warned, went = (tuple(map(int, marks[mark].split("."))) for mark in ("deprecated", "gone"))
        assert warned[:2] < went[:2], f"{name} must warn for at least one minor version"


def test_the_sample_uses_what_is_public() -> None:
    """Of `sequences`, `tickets` imports only names that a public module exports."""
    used = {name for module in of("tickets") for name in module.imported() if name.startswith("sequences.")}
    assert used - surface() == set()


def test_the_pages_use_what_is_public() -> None:
    """Of `sequences`, the examples of README and docs import only names that a public module exports."""
    pages = "\n".join(path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
    lines = re.findall(r"^(?:>>> |\s*)from (sequences\S*) import ([\w, ]+)", pages, re.MULTILINE)
    assert len(lines) > 20
    assert {f"{module}.{name}" for module, names in lines for name in names.split(", ")} - surface() == set()


def test_every_module_says_what_lives_there() -> None:
    """Every module opens with a docstring; what a migration does is in its name."""
    silent = [module.path for module in [module_at(ROOT / "manage.py"), *ours()] if not ast.get_docstring(module.tree)]
    assert [path for path in silent if "/migrations/" not in path] == []


def test_all_lists_every_public_name() -> None:
    """In a public module, `__all__` lists its public functions and classes."""
    missing = {
        module.path: module.public_names() - set(module.exported() or ())
        for module in exporting()
        if module.exported() is None or module.public_names() - set(module.exported() or ())
    }
    assert missing == {}


def test_all_is_sorted() -> None:
    """In `sequences`, `__all__` lists constants, then classes, then functions, each in alphabetical order."""

    def place(name: str) -> tuple[bool, bool, str]:
        return not name.isupper(), not name[0].isupper(), name

    listed = {module.path: module.exported() or [] for module in of("sequences")}
    assert {path for path, names in listed.items() if names != sorted(names, key=place)} == set()


def test_every_test_says_what_it_shows() -> None:
    """Every test has a docstring: the behaviour that it states."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    silent = [
        f"{module.path}::{node.name}"
        for module in of("tests")
        for node in module.statements
        if isinstance(node, kinds) and node.name.startswith("test_") and not ast.get_docstring(node)
    ]
    assert silent == []
