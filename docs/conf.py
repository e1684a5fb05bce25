"""How `make docs` builds the site: the pages of this folder, and a reference made of docstrings and parsers."""

import os
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import django

sys.path.insert(0, str(Path(__file__).parents[1]))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings.development")
django.setup()

from sphinx.application import Sphinx  # noqa: E402 - Django must be set up before what follows

from project.commands import docs  # noqa: E402
from project.commands.api_page import api_page  # noqa: E402
from project.proof.reference import page_of_figures  # noqa: E402
from sequences import __version__  # noqa: E402

project = "django-dynamodb-sequences"
copyright = f"{datetime.now(UTC).year}, its authors"  # noqa: A001 - Sphinx reads this name
release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = f"{project} {release}"
html_show_sourcelink = html_copy_source = False

myst_heading_anchors = 4  # as GitHub makes them: the pages are read there, too
default_role = "code"  # docstrings write `names` in Markdown's way
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True

INDENTED = re.compile(r"(?<=\n)\n((?: {4}.*\n|\n)+)")
PYTHON = re.compile(r"^(?:from|import|await|@|class|def) |\w\(| = ", re.MULTILINE)


def indented_as_code(app: Sphinx, what: str, name: str, of: Any, options: Any, lines: list[str]) -> None:
    """Show the indented paragraphs of a docstring as code, or as the drawing that they are."""

    def block(found: re.Match[str]) -> str:
        language = "python" if PYTHON.search(found[1]) else "text"
        return f"\n.. code-block:: {language}\n\n{found[1]}\n"

    lines[:] = INDENTED.sub(block, "\n".join(lines) + "\n").split("\n")


def link_copies(app: Sphinx, page: str, source: list[str]) -> None:
    """Lead to the copies that the site has of pages in other folders."""
    for copy, file in docs.COPIED.items():
        source[0] = source[0].replace(f"](../{file.relative_to(docs.ROOT)}", f"](reference/{copy}.md")


def setup(app: Sphinx) -> None:
    """Write the reference before the pages are read."""
    more = {"figures": page_of_figures(), "rest": "\n".join(api_page())}
    docs.write_reference(Path(app.srcdir) / "reference", more)
    app.connect("source-read", link_copies)
    app.connect("autodoc-process-docstring", indented_as_code)
