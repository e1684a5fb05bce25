"""`make docs`: the site of the documentation, in .local/docs.

    python -m project.commands.docs

Its pages are those of docs/. Its reference is made anew: of the docstrings of all that is public, of the parsers of the
commands, of the document of the sample's API, and of what is measured and changes by rules. The exit status is 1 if a
link leads nowhere, or no page leads to a page.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator, Mapping
from pathlib import Path

from django.core.management import find_commands, load_command_class
from django.core.management.base import CommandParser

import sequences
from project.gauges import BUILD, GAUGES
from project.paths import LOCAL, ROOT
from sequences.capabilities import as_table, rules_table
from sequences.ops.watching import alarms_table, log_tables, metrics_table
from tickets.metrics import INSTRUMENTS as OF_SITE

__all__ = ["COPIED", "main", "public_modules", "write_reference"]

SITE = LOCAL / "docs"
COMMANDS = find_commands(str(ROOT / "sequences" / "management"))
COPIED = {"changelog": ROOT / "CHANGELOG.md", "stored": ROOT / "project" / "stored_rows.md"}
"""Pages of the reference that are copies, each with its file outside docs/."""
IN_MENU = ("sequences", "sequences.exceptions", "sequences.strategies", "sequences.types")
AUTOMODULE = """# {0}

```{{eval-rst}}
.. automodule:: {0}
   :members:
   :show-inheritance:
```
"""
MODULES = """# More modules

```{{toctree}}
:maxdepth: 1
{0}
```
"""
RULES = """# Settings that change

What becomes of a sequence that has rows when a key of it changes:

- *refused*: its processes raise `RulesChanged` until the change is [adopted](../changes.md#adopt).
- *told*: numbers go on, and each process logs one warning until the change is adopted.
- *taken*: numbers go on, and the next process notes it.
"""
METRICS = "# Metrics, log and alarms\n\n[Watching](../watching.md) says what to look at.\n\n## Metrics"


def public_modules() -> list[str]:
    """The modules that the docstring of `sequences` lists: an application may import from them."""
    names = (sequences.__doc__ or "").partition("Public are")[2]
    listed = re.findall(r"^    (\S+(?:, \S+)*)(?:  |$)", names, re.MULTILINE)
    return ["sequences", *(f"sequences.{name}" for line in listed for name in line.split(", "))]


def write_reference(folder: Path, more: Mapping[str, str] = {}) -> None:
    """Write a page for each public module, those that are made of other files, and `more` by their names."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    modules = public_modules()
    pages = {module: AUTOMODULE.format(module) for module in modules}
    pages["sequences"] = _page_of_functions()
    pages["modules"] = MODULES.format("\n".join(module for module in modules if module not in IN_MENU))
    pages["commands"] = "\n".join(_page_of_commands())
    pages["metrics"] = "\n\n".join(_page_of_metrics())
    pages["rules"] = f"{RULES}\n{rules_table()}\n"
    pages |= {page: _copied(file) for page, file in COPIED.items()}
    for name, text in {**pages, **more}.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def _copied(file: Path) -> str:
    """A page of another folder, with its links into docs/ as the site has them."""
    return re.sub(r"\]\((\.\./)?docs/", "](../", file.read_text(encoding="utf-8"))


def _page_of_functions() -> str:
    """The functions that wait come first, and after them their twins, which differ in nothing else."""
    twins = [name for name in sequences.__all__ if name[1:] in sequences.__all__]
    waiting = AUTOMODULE.format("sequences").replace(":members:", f":members:\n   :exclude-members: {', '.join(twins)}")
    directives = "\n".join(f".. autofunction:: sequences.{name}" for name in twins)
    return f"{waiting}\n## In event loops\n\n```{{eval-rst}}\n{directives}\n```\n"


def _page_of_commands() -> Iterator[str]:
    """What each command says of itself, without the options that all of Django's commands have."""
    yield "# Commands\n"
    for name in COMMANDS:
        command = load_command_class("sequences", name)
        parser = CommandParser(prog=f"manage.py {name}")
        command.add_arguments(parser)
        yield f"## {name}\n\n{command.help}\n"
        groups = [action for action in parser._actions if isinstance(action, _SubParsersAction)]
        if not groups:
            yield _usage(parser)
        for group in groups:
            abouts = {choice.dest: choice.help or "" for choice in group._choices_actions}
            for one, subparser in group.choices.items():
                yield f"### {name} {one}\n\n{abouts[one][:1].upper()}{abouts[one][1:]}.\n\n{_usage(subparser)}"


def _page_of_metrics() -> Iterator[str]:
    """What can be watched: of `sequences` as its commands print it, and of the sample."""
    yield f"{METRICS}\n\n{metrics_table()}"
    gauges = [*((name, about) for name, (_, about) in GAUGES.items()), BUILD]
    shown = as_table(["Gauge", "Tells"], [[f"`{name}`", about] for name, about in gauges])
    yield f"## Metrics of the sample\n\n{metrics_table(OF_SITE)}\n\n{shown}"
    yield f"## Log\n\n{log_tables()}\n\n## Alarms of the template\n\n{alarms_table()}\n"


def _usage(parser: ArgumentParser) -> str:
    return f"```text\n{parser.format_help()}```\n"


def main() -> int:
    """Build the site; return 1 if something in it is wrong."""
    build = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "--fresh-env"]
    done = subprocess.run([*build, ROOT / "docs", SITE], check=False)
    if not done.returncode:
        print(f"The site is in {SITE.relative_to(ROOT)}: open index.html.")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
