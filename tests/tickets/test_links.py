"""Links in what people type."""

import html
import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tickets.templatetags.links import links


@pytest.mark.parametrize("address", ["https://example.com/a?b=1", "http://a.test:8000/@ann", "www.example.com/x@y"])
def test_an_address_is_a_link_that_gives_nothing_away(address: str) -> None:
    """The page behind a link does not learn where it was, and gets no good name by it."""
    shown = links(f"See ({address}).")
    assert 'rel="noopener noreferrer ugc nofollow"' in shown
    assert shown.endswith(f">{address}</a>).")


@pytest.mark.parametrize(
    "address",
    [
        "https://ann:secret@example.com/",
        "HTTPS://ann@example.com",
        "https://bank.test&#64;example.com/",
        "www.bank.test:80@example.com",
        "https://bank.test%40example.com/",
        "(https://bank.test\\@example.com/)",
    ],
)
def test_an_address_with_a_user_is_no_link(address: str) -> None:
    """A password in an address is not sent by a click, and no address looks like that of another site."""
    assert "<a" not in links(f"See {address} now")


def test_mail_is_written_by_a_link() -> None:
    """An address of mail is a link to it."""
    assert 'href="mailto:ann@example.com"' in links("Ask ann@example.com, please")


PARTS = ["https://", "http://", "www.", "a.com", "@", ":", "/", "\\", "&#64;", "%40", "<b>", '"', "'", " ", "?", "["]


class Tags(HTMLParser):
    """The tags of a text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note it."""
        self.found.append((tag, dict(attrs)))


@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join))
@example("https://a.com&#64;a.com")
def test_no_text_makes_other_tags_or_links_with_users(text: str) -> None:
    """Whatever is typed, the only tags are links to the web or to mail, and none has a user. Nothing is lost."""
    for tag, attributes in Tags(links(text)).found:
        assert (tag, set(attributes)) == ("a", {"href", "rel"})
        host = re.match(r"mailto:|https?://([^/?#]*)", attributes["href"] or "")
        assert host
        assert "@" not in (host[1] or "")
    assert html.unescape(re.sub("<[^>]*>", "", links(text))) == text
