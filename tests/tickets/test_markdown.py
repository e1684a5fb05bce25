"""The texts that people write, as HTML: what is in it, and how much work it takes, whatever people write."""

import re
import sys
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from types import FrameType
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.tickets.test_services import ABC_1
from tickets.markdown import Marked
from tickets.types import Moved, Status, Ticket, TicketKey

BLOCKS = {"p", "br", "hr", "blockquote", "ul", "ol", "li", "pre", "h3", "h4", "h5", "h6", "div"}
CELLS = {"table", "thead", "tbody", "tr", "th", "td"}
TAGS = BLOCKS | CELLS | {"a", "code", "em", "strong", "s"}
ATTRIBUTES = {"href", "rel", "title", "class", "start", "tabindex"}
ALLOWED = re.compile("(https?://|mailto:)", re.IGNORECASE)
REL = "noopener noreferrer ugc nofollow"

HOSTILE = [
    "[",
    "![",
    "]",
    "(",
    "[a](",
    "[a](<",
    "[a][",
    "[a]: b\n",
    "<",
    "<http:",
    "<!--",
    "&",
    "\\",
    "`",
    "```\n",
    "``",
]
HOSTILE += [
    "*",
    "_",
    "**a",
    "*_",
    "a**b",
    "~~",
    "> ",
    ">",
    "- ",
    "- a\n",
    "1. ",
    "# ",
    "|",
    "|a|b|\n|-|-|\n",
    "\n",
    "\t",
]
HOSTILE += ["http://", "http://)", "ABC-", "ABC-1", "[![", "> - "]
# What Markdown and HTML are made of, so that the parts often meet.
PARTS = [
    *HOSTILE,
    "javascript:alert(1)",
    "JAVASCRIPT:",
    "data:text/html,x",
    "vbscript:",
    "//x.test",
    "/ABC/",
    "x",
    " ",
    "\n\n",
]
PARTS += [
    "<script>",
    "<img src=x onerror=y>",
    "<a href='javascript:x'>",
    '" onclick="x',
    "'",
    ")",
    ">",
    "http://x.test/",
]
PARTS += [
    "&#106;avascript:",
    "&lt;b&gt;",
    "mailto:a@x.test",
    "|-|:-:|\n",
    "    code\n",
    "ABC-7",
    "\u202e",
    "\x00",
    "](",
]


class Read(HTMLParser):
    """The tags of HTML with their attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.others: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep a tag."""
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """Keep a text."""
        self.text += data

    def handle_comment(self, data: str) -> None:
        """Keep what has no place in a text."""
        self.others.append(data)

    def handle_decl(self, decl: str) -> None:
        """Keep this, too."""
        self.others.append(decl)

    handle_pi = unknown_decl = handle_comment


def html_of(text: str) -> str:
    """A text as HTML, on a page that knows no tickets."""
    return Marked([text]).html(text, {})


@settings(max_examples=200, deadline=None)
@example("[a](javascript:alert(1)) [b](<data:text/html,x>) <vbscript:x> [c](//x.test) [d](&#106;avascript:x)")
@example('[a](http://x.test "b") <https://x.test> http://x.test [b](mailto:a@x.test) <script>x</script>\n\n<div>\n')
@example('[a]() [b]( ) [c](<>) [d]("") *[e]()* ABC-1')
@example("```\n<script>\n```\n\n    <script>\n")
@given(st.lists(st.sampled_from(PARTS) | st.text(max_size=3), max_size=40).map("".join))
def test_only_what_is_listed_is_written(text: str) -> None:
    """Whatever people write, there are the listed tags and attributes alone, and links to the web and to mail."""
    read = Read(html_of(text))
    assert {tag for tag, _ in read.tags} <= TAGS
    assert {name for _, attributes in read.tags for name in attributes} <= ATTRIBUTES
    for tag, attributes in read.tags:
        assert ("href" in attributes) == (tag == "a")
        if tag == "a":
            assert ALLOWED.match(attributes["href"] or "")
            assert attributes["rel"] == REL
        assert attributes.get("class") in {None, "wide", "left", "center", "right"} or tag == "div"
    assert read.others == []


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a\nb", "<p>a<br />\nb</p>\n"),
        ("# a", "<h3>a</h3>\n"),
        ("###### a", "<h6>a</h6>\n"),
        ("![a](http://x.test/y.png)", f'<p>!<a href="http://x.test/y.png" rel="{REL}">a</a></p>\n'),
        ("[a](/ABC/)", "<p>[a](/ABC/)</p>\n"),
        (
            "[a](http://x.test) http://y.test",
            f'<p><a href="http://x.test" rel="{REL}">a</a> <a href="http://y.test" rel="{REL}">http://y.test</a></p>\n',
        ),
        ("(http://x.test/a_b).", f'<p>(<a href="http://x.test/a_b" rel="{REL}">http://x.test/a_b</a>).</p>\n'),
        ("```py\n<b>\n```", '<pre tabindex="0"><code>&lt;b&gt;\n</code></pre>\n'),
        ("http://a@x.test [b](http://a:b@x.test)", "<p>http://a@x.test [b](http://a:b@x.test)</p>\n"),
        ("[a]: http://x.test", f'<p>[a]: <a href="http://x.test" rel="{REL}">http://x.test</a></p>\n'),
        ("~~a~~ `b` **c** _d_", "<p><s>a</s> <code>b</code> <strong>c</strong> <em>d</em></p>\n"),
        ("a\\\nb", "<p>a<br />\nb</p>\n"),
        ("3. a\n4. b\n\n- c", '<ol start="3">\n<li>a</li>\n<li>b</li>\n</ol>\n<ul>\n<li>c</li>\n</ul>\n'),
        ("> a\n\n---\n\n## b", "<blockquote>\n<p>a</p>\n</blockquote>\n<hr />\n<h4>b</h4>\n"),
        ("#### a\n##### b", "<h6>a</h6>\n<h6>b</h6>\n"),
        ("    <b>\n", '<pre tabindex="0"><code>&lt;b&gt;\n</code></pre>\n'),
        ("&lt;i&gt; <b> &#66;", "<p>&lt;i&gt; &lt;b&gt; B</p>\n"),
        ("<https://x.test>", f'<p><a href="https://x.test" rel="{REL}">https://x.test</a></p>\n'),
        ("[a](mailto:b@x.test 'c')", f'<p><a href="mailto:b@x.test" title="c" rel="{REL}">a</a></p>\n'),
        ("*[a]()* b", "<p><em>a</em> b</p>\n"),
        ("HTTP://X.TEST/A", "<p>HTTP://X.TEST/A</p>\n"),
        (
            "x http://y.test/ä?b=1&c, z",
            f'<p>x <a href="http://y.test/%C3%A4?b=1&amp;c" rel="{REL}">http://y.test/ä?b=1&amp;c</a>, z</p>\n',
        ),
    ],
)
def test_texts_are_as_people_mean_them(text: str, html: str) -> None:
    """Lines stay lines, headings are below those of the page, and images and links within the site are not made."""
    assert html_of(text) == html


def test_columns_have_their_sides_without_styles() -> None:
    """The sides of a table's columns are classes, as a strict page has no styles inside, and it scrolls by itself."""
    cells = [("left", "a"), ("center", "b"), ("right", "c"), ("", "d")]
    head, row = [
        "".join(f'<{tag} class="{side}">{text}</{tag}>\n'.replace(' class=""', "") for side, text in cells)
        for tag in ("th", "td")
    ]
    assert html_of("|a|b|c|d|\n|:-|:-:|-:|-|\n|a|b|c|d|") == (
        f'<div class="wide" tabindex="0"><table>\n<thead>\n<tr>\n{head}</tr>\n</thead>\n'
        f"<tbody>\n<tr>\n{row}</tr>\n</tbody>\n</table></div>\n"
    )


@pytest.mark.parametrize("text", ["> " * 60 + "deep", "\n".join("  " * depth + "- deep" for depth in range(40))])
def test_what_is_nested_too_deep_is_not_lost(text: str) -> None:
    """A text that is nested deeper than can be shown is shown as it was typed."""
    assert Read(html_of(text)).text.count("deep") == text.count("deep")
    assert "<p>" in html_of(text)


@pytest.mark.parametrize(("unit", "tag", "most"), [("> ", "<blockquote>", 29), ("- ", "<ul>", 14)])
def test_what_is_nested_is_shown_so(unit: str, tag: str, most: int) -> None:
    """It is, as far as the nesting goes that is read: a list with its entry counts twice."""
    assert [html_of(unit * depth + "deep").count(tag) for depth in (1, most, most + 1)] == [1, most, 0]


def test_after_many_characters_texts_are_as_typed() -> None:
    """What a page has beyond the characters that are read as Markdown is shown as it was typed, with its links."""
    long, short = "x" * (100_000 - 9), "*a* ABC-1"
    marked = Marked([long, long, short, long + "x", "*a*\nb"])
    assert marked.html(short, {}) == "<p><em>a</em> ABC-1</p>\n"
    assert marked.html("*a*\nb", {}) == "<p>*a*<br />\nb</p>\n"
    marked = Marked(["x" + long, short])
    assert marked.html(short, {}) == "<p>*a* ABC-1</p>\n"
    assert marked.mentioned == [ABC_1]


def test_tables_of_a_page_have_bounded_cells() -> None:
    """Short rows in wide tables make no more cells than a page may have; what follows them stays text."""
    table = "|" + "a|" * 100 + "\n|" + "-|" * 100 + "\n" + "x\n" * 100 + "\n"
    texts = [table * 10, table * 10 + "end"]
    marked = Marked(texts)
    html = "".join(marked.html(text, {}) for text in texts)
    assert 4_000 < html.count("<td") <= 5_000
    assert Read(html).text.count("x") == 2_000


@pytest.mark.parametrize(("head", "rows"), [("a|b\n-|-\n", 2_500), ("a|b|c\n-|-|-\n", 1_666)])
def test_the_most_rows(head: str, rows: int) -> None:
    """A table has as many whole rows as fit into 5,000 cells."""
    assert html_of(head + "x\n" * 2_600).count("<tr>") == 1 + rows


def test_cells_are_counted_wherever_a_table_begins() -> None:
    """A table takes its own cells of what a page may have, and not those of the lines before it."""
    table = "|" + "a|" * 10 + "\n|" + "-|" * 10 + "\n" + "x\n" * 10
    assert html_of("a line\n\n" * 5000 + f"{table}\nand\n\n{table}").count("<td") == 2 * 10 * 10


def lines_run(text: str) -> int:
    """How many lines of Python it takes to show a text."""
    lines = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        html_of(text)
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.parametrize("unit", HOSTILE)
def test_the_work_grows_with_the_length(unit: str) -> None:
    """Four times as much of what is hard to read takes at most about four times the work."""
    html_of(unit)
    short, long = (lines_run((unit * length)[:length]) for length in (250, 1_000))
    assert long < 5 * short


class TestMentions:
    @pytest.mark.parametrize(
        "text", ["ABC-1", "(ABC-1)", "*ABC-1*", "ABC-1.", "ABC-1, x", "# ABC-1", "x\nABC-1", "|ABC-1|\n|-|"]
    )
    def test_a_key_is_a_word(self, text: str) -> None:
        """A key in a sentence, a heading or a table is a mention."""
        assert Marked([text]).mentioned == [ABC_1]

    @pytest.mark.parametrize(
        "text",
        [
            *("`ABC-1`", "    ABC-1", "```\nABC-1\n```", "[ABC-1](http://x.test)", "http://x.test/ABC-1", "/ABC-1/"),
            *("xABC-1", "ABC-1x", "ABC-0", "abc-1", "ABC-1-2", "X-ABC-1", "ABC-1.5", "ABC-1234567890123456"),
        ],
    )
    def test_not_everything_is_a_key(self, text: str) -> None:
        """What is code, a part of a link or of a longer word is no mention."""
        assert Marked([text]).mentioned == []

    def test_only_some_are_looked_for(self) -> None:
        """A page leads to the tickets that it mentions first, each of them once."""
        texts = [" ".join(f"ABC-{number} ABC-1" for number in range(1, 100)), "ABC-200"]
        assert Marked(texts).mentioned == [TicketKey(project="ABC", number=number) for number in range(1, 51)]


NOW = datetime(2026, 1, 31, tzinfo=UTC)
TICKET = Ticket(
    key=ABC_1, title='A "b"', description="", status=Status.IN_PROGRESS, assignee="", labels=(), reporter="ann",
    created_at=NOW, updated_at=NOW, version=1,
)  # fmt: skip
XYZ_7 = TicketKey(project="XYZ", number=7)


@pytest.mark.parametrize(
    ("ticket", "html"),
    [
        (TICKET, '<a class="mention in_progress" href="/ABC-1/" title="In progress: A &quot;b&quot;">ABC-1</a>'),
        (replace(TICKET, title=""), '<a class="mention in_progress" href="/ABC-1/" title="In progress">ABC-1</a>'),
        (
            replace(TICKET, key=XYZ_7),
            '<a class="mention in_progress" href="/XYZ-7/" title="In progress: A &quot;b&quot;">ABC-1</a>',
        ),
        (
            replace(TICKET, key=XYZ_7, title="", status=Status.MOVED, moved=Moved(to=None, by="ann", at=NOW)),
            '<a class="mention moved" href="/ABC-1/" title="Moved">ABC-1</a>',
        ),
    ],
)
def test_a_mention_leads_to_its_ticket(ticket: Ticket, html: str) -> None:
    """A link says the status and the title; the key of a moved ticket leads on from where it was."""
    marked = Marked(["See ABC-1, ABC-2"])
    assert marked.html("See ABC-1, ABC-2", {ABC_1: ticket}) == f"<p>See {html}, ABC-2</p>\n"


def test_the_list_has_nothing_that_acts() -> None:
    """No listed tag runs, loads or sends anything, and no listed attribute does."""
    assert TAGS.isdisjoint({"script", "style", "img", "iframe", "form", "input", "button", "svg", "object", "base"})
    assert not any(name.startswith("on") or name in {"style", "src", "id"} for name in ATTRIBUTES)


@pytest.mark.parametrize(
    "address",
    [
        "https://ann:secret@example.com/",
        "HTTPS://ann@example.com",
        "https://bank.test&#64;example.com/",
        "https://bank.test%40example.com/",
        "https://bank.test\\@example.com/",
    ],
)
@pytest.mark.parametrize("text", ["See {} now", "<{}>", "[bank]({})", "({})."])
def test_an_address_with_a_user_is_no_link(address: str, text: str) -> None:
    """A password in an address is not sent by a click, and no address looks like that of another site."""
    assert "href" not in html_of(text.format(address))


def test_what_turns_a_text_is_named() -> None:
    """A control of direction is shown by its name, also in an address, so that what is read is what is stored."""
    html = Marked([text := "See https://a.test/\u202egnp.exe and \u2066*this*"]).html(text, {})
    assert "\u202e" not in html
    assert ">https://a.test/[U+202E]gnp.exe</a>" in html
    assert "[U+2066]<em>this</em>" in html
