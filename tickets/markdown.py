"""The texts that people write, as HTML: Markdown without raw HTML and images, and links to the tickets in it.

    marked = Marked([ticket.description, *comments])
    marked.html(ticket.description, tickets)  # those of `marked.mentioned` that the reader may see

Few tags with few attributes are written, and nothing else: a test lists them. The work grows with the length of a text,
whatever is in it: nesting and the cells of tables are limited, and there are no references, whose definitions would be
looked for.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import unescape
from typing import Any
from urllib.parse import unquote

from django.urls import reverse
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock, table
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from tickets.characters import DIRECTIONS, named
from tickets.types import TICKET_KEY, Ticket, TicketKey

MOST_MENTIONED = 50  # tickets that the texts of a page lead to
MOST_CHARACTERS = 100_000  # of a page's texts that are read as Markdown; the others are shown as they were typed
MOST_CELLS = 5_000  # of all tables of a page
MOST_NESTING = 30
HIGHEST_HEADING = 3  # a page has its own h1 and h2
REL = "noopener noreferrer ugc nofollow"

TURNS = re.compile(f"[{DIRECTIONS}]")  # they are named in place: what is read is what is stored
USER_IN_ADDRESS = re.compile(r"//[^/?#]*@", re.IGNORECASE)  # or what looks like the address of another site
ALLOWED = re.compile("(https?://|mailto:)", re.IGNORECASE)
# An address ends before the punctuation of its sentence. A key is a word of its own.
LEADING = re.compile(
    r"(?P<address>\bhttps?://[^\s<>\"]*[^\s<>\"'.,:;!?()*_~\]])"
    rf"|(?<![\w/.#-])(?P<key>{TICKET_KEY})(?![\w-]|\.\w)",
    re.ASCII,
)


class Marked:
    """The texts of one page, read once. `mentioned` has the keys of the tickets in them, at most MOST_MENTIONED."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._env = {"cells": MOST_CELLS}
        self._tokens: dict[str, Sequence[Token]] = {}
        left = MOST_CHARACTERS
        for text in texts:
            if text not in self._tokens:
                left -= len(text)
                self._tokens[text] = _read(text, self._env) if left >= 0 else PLAIN.parse(text)
        tokens = (child for read in self._tokens.values() for token in read for child in token.children or ())
        keys = dict.fromkeys(token.meta["key"] for token in tokens if token.type == "mention")
        self.mentioned: Sequence[TicketKey] = [*keys][:MOST_MENTIONED]

    def html(self, text: str, tickets: Mapping[TicketKey, Ticket]) -> SafeString:
        """One of the texts as HTML. What mentions one of these tickets leads to it; other keys stay text."""
        html = MARKDOWN.renderer.render(self._tokens[text], MARKDOWN.options, {"tickets": tickets})
        return SafeString(TURNS.sub(lambda found: f"[{named(found[0])}]", html))


def _read(text: str, env: dict[str, Any]) -> Sequence[Token]:
    """The tokens of a Markdown text. One that is nested too deep is shown as it was typed, so that nothing is lost."""
    tokens = MARKDOWN.parse(text, env)
    containers = (token for token in tokens if token.type in {"blockquote_open", "list_item_open"})
    return PLAIN.parse(text) if any(token.level >= MOST_NESTING - 1 for token in containers) else tokens


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802 - the name of the library
        return ALLOWED.match(url) is not None and not USER_IN_ADDRESS.search(unquote(unescape(url)))


class _Renderer(RendererHTML):
    """Writes what has other HTML here than elsewhere. What may be wider than the page scrolls, by the keyboard, too."""

    def mention(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        key, text = tokens[idx].meta["key"], tokens[idx].content
        ticket = env["tickets"].get(key)
        return _link(key, ticket, text) if ticket else text

    def fence(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return f'<pre tabindex="0"><code>{escape(tokens[idx].content)}</code></pre>\n'

    code_block = fence

    def table_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return '<div class="wide" tabindex="0"><table>\n'

    def table_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return "</table></div>\n"


def _link(key: TicketKey, ticket: Ticket, text: str) -> str:
    """The link to a ticket, which says its status and title. One that has moved is looked for by who follows it."""
    address = reverse("tickets:ticket", args=[key if ticket.moved else ticket.key])
    about = f"{ticket.status.label}: {ticket.title}" if ticket.title else ticket.status.label
    return format_html('<a class="mention {}" href="{}" title="{}">{}</a>', ticket.status, address, about, text)


def _bounded_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A table, with no more rows than fit into what is left of MOST_CELLS. The rows after them are text."""
    columns = state.src.count("|", state.bMarks[start], state.eMarks[start]) + 1
    left = state.env.get("cells", 0)
    if not table(state, start, min(end, start + 2 + left // columns), silent):
        return False
    if not silent:
        state.env["cells"] = left - columns * (state.line - start)
    return True


def _finish(state: StateCore) -> None:
    """Give headings, links and cells the tags and attributes that they have here."""
    for token in state.tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(int(token.tag[1]) + HIGHEST_HEADING - 1, 6)}"
        elif "style" in token.attrs:  # of a cell: a strict page has no styles of its own
            token.attrs = {"class": str(token.attrs["style"]).removeprefix("text-align:")}
        elif token.children:
            token.children = [*_leading(token.children)]


def _leading(tokens: Sequence[Token]) -> Iterator[Token]:
    """The tokens of a line, with links where its texts lead somewhere; not inside other links."""
    link: Token | None = None  # the one around this token
    for token in tokens:
        if token.type == "link_open":
            link, token.attrs = token, {**token.attrs, "rel": REL}
        if token.type == "text" and not link:
            yield from _pieces(token.content)
        elif not (link and token.nesting and token.tag == "a") or link.attrs["href"]:  # "[a]()" leads nowhere
            yield token
        if token.type == "link_close":
            link = None


def _pieces(text: str) -> Iterator[Token]:
    done = 0
    for found in LEADING.finditer(text):
        yield _token("text", content=text[done : found.start()])
        if found["address"] and not MARKDOWN.validateLink(found[0]):
            yield _token("text", content=found[0])
        elif found["key"]:
            yield _token("mention", content=found[0], meta={"key": TicketKey.matched(found["key"])})
        else:
            href = MARKDOWN.normalizeLink(found[0])
            yield _token("link_open", "a", 1, attrs={"href": href, "rel": REL})
            yield _token("text", content=found[0])
            yield _token("link_close", "a", -1)
        done = found.end()
    yield _token("text", content=text[done:])


def _token(kind: str, tag: str = "", nesting: Any = 0, **about: Any) -> Token:
    return Token(kind, tag, nesting, **about)


def _parser(preset: str, rules: Sequence[str]) -> MarkdownIt:
    options = {"html": False, "breaks": True, "maxNesting": MOST_NESTING}
    parser = _Parser(preset, options, renderer_cls=_Renderer).enable(rules)
    parser.core.ruler.push("finish", _finish)
    return parser


PLAIN = _parser("zero", ["newline"])
MARKDOWN = _parser("commonmark", ["table", "strikethrough"]).disable(["image", "reference"])
MARKDOWN.block.ruler.at("table", _bounded_table, {"alt": ["paragraph"]})
