"""`make docs`: the site of the documentation, in .local/docs.

    python -m project.commands.docs

Its pages are those of docs/. Its reference is made anew: of the docstrings of all that is public, and of the parsers of
the commands. The exit status is 1 if a link leads nowhere, or no page leads to a page.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from pathlib import Path

from django.core.management import load_command_class
from django.core.management.base import CommandParser

import sequences
from project.paths import LOCAL, ROOT

__all__ = ["COPIED", "main", "public_modules", "write_reference"]

SITE = LOCAL / "docs"
COMMANDS = ("create_tables", "sequences")
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


def public_modules() -> list[str]:
    """The modules that the docstring of `sequences` lists: an application may import from them."""
    names = (sequences.__doc__ or "").partition("Public are")[2]
    listed = re.findall(r"^    (\S+(?:, \S+)*)(?:  |$)", names, re.MULTILINE)
    return ["sequences", *(f"sequences.{name}" for line in listed for name in line.split(", "))]


def write_reference(folder: Path) -> None:
    """Write a page for each public module, and those that are made of other files."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    modules = public_modules()
    pages = {module: AUTOMODULE.format(module) for module in modules}
    pages["sequences"] = _page_of_functions()
    pages["modules"] = MODULES.format("\n".join(module for module in modules if module not in IN_MENU))
    pages["commands"] = "\n".join(_page_of_commands())
    pages |= {page: _copied(file) for page, file in COPIED.items()}
    for name, text in pages.items():
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
