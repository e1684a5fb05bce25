"""The sizes that keep the house easy to read. What is larger is listed with its size, and may only shrink."""

import ast
import re
from collections.abc import Mapping

from project.paths import ROOT
from sequences.capabilities import strategy_classes
from tests.test_docs import section
from tests.test_rooms import Module, of

MOST_METHODS, MOST_LINES, MOST_MODULES = 15, 300, 16
MOST_OPTIONS, MOST_WORDS = 23, 40  # options may only become fewer: about 20

LARGE_FILES = {
    "project/proof/bars.py": 440,
    "project/proof/faults/history.py": 450,
    "project/proof/faults/proxy.py": 315,
    "project/proof/mutants.py": 338,
    "project/proof/soak.py": 390,
    "project/lab/recipes.py": 398,
}
LARGE_CLASSES = {
    "project/proof/faults/proxy.py FaultProxy": 16,
    "project/lab/races.py Race": 17,
}


def product() -> list[Module]:
    """The modules of the product."""
    return of("sequences", "tickets", "project")


def too_large(sizes: Mapping[str, int], most: int, listed: Mapping[str, int]) -> dict[str, int]:
    """What is larger than it may be: than its size in the list, or than most."""
    return {name: size for name, size in sizes.items() if size > listed.get(name, most)}


def test_files() -> None:
    """A file has at most 300 lines."""
    lines = {one.path: len((ROOT / one.path).read_text(encoding="utf-8").splitlines()) for one in product()}
    assert too_large(lines, MOST_LINES, LARGE_FILES) == {}
    assert [path for path in LARGE_FILES if lines.get(path, 0) <= MOST_LINES] == []


def test_classes() -> None:
    """A class has at most 15 methods."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    methods = {
        f"{one.path} {node.name}": sum(isinstance(part, kinds) for part in node.body)
        for one in product()
        for node in ast.walk(one.tree)
        if isinstance(node, ast.ClassDef)
    }
    assert too_large(methods, MOST_METHODS, LARGE_CLASSES) == {}
    assert [name for name in LARGE_CLASSES if methods.get(name, 0) <= MOST_METHODS] == []


def test_modules_on_the_top_level() -> None:
    """On the top level is what an application imports, or Django demands."""
    assert 10 < len(list((ROOT / "sequences").glob("*.py"))) <= MOST_MODULES


def test_options() -> None:
    """A strategy has few options."""
    names = {name for strategy in strategy_classes() for name in strategy.options}
    assert 10 < len(names) <= MOST_OPTIONS


def test_words() -> None:
    """The glossary has few words of our own."""
    rows = re.findall(r"^\| (?!---|Word )", section("docs/architecture.md", "Words"), re.MULTILINE)
    assert 10 < len(rows) <= MOST_WORDS
