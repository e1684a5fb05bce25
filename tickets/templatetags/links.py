"""Links in what people type."""

import html
import re
from typing import Any
from urllib.parse import unquote

from django import template
from django.utils.html import Urlizer, escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()

USER_IN_ADDRESS = re.compile(r"(?://|www\.)[^/?#]*@", re.IGNORECASE)


class Links(Urlizer):
    """Django's `urlize` for the texts of others: their pages learn nothing from a link, and win nothing by it.

    An address with a user in it stays text. A password may follow, or it may only look like the page that it leads to.
    """

    url_template = '<a href="{href}" rel="noopener noreferrer ugc nofollow">{url}</a>'

    def handle_word(self, word: str, **options: Any) -> str:
        """The word, escaped, as a link if it is an address. The address of the link is decoded as here."""
        has_user = USER_IN_ADDRESS.search(unquote(html.unescape(word)))
        return escape(word) if has_user else super().handle_word(word, **options)

    def trim_punctuation(self, word: str) -> tuple[str, str, str]:
        """What stands before an address, the address, and all that follows: Django loses the dot of `(address).`"""
        lead, middle, _ = super().trim_punctuation(word)
        return lead, middle, word[len(lead) + len(middle) :]


@register.filter
def links(text: str) -> SafeString:
    """A text as HTML in which addresses are links."""
    return mark_safe(Links()(text, autoescape=True))  # noqa: S308 - every word is escaped
