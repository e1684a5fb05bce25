"""How things look that have no look of their own."""

from zlib import crc32

from django import template

HUES = 8  # as many as `tickets.css` has

register = template.Library()


@register.filter
def hue(name: str) -> str:
    """The class of the colour of this name, the same on every page."""
    return f"hue-{crc32(name.encode()) % HUES}"
