"""Finds the slug in a path as people and programs spell it: with a full stop, a query, a `+`."""

import re
from unicodedata import category
from urllib.parse import unquote

from links.addresses.aliases import SHAPE

MAX_PATH_LENGTH = 256  # characters; a longer path cannot be a slug with punctuation appended
_QUERY = re.compile(r"[?&;#]")  # begins a query, even in spellings that browsers do not read as one


def repair(text: str) -> str | None:
    """Recovers the slug from a mistyped path; None if it cannot be one.

    Messengers and people append the next full stop, bracket or quote to a link, some editors insert
    invisible characters, and some sites and mail programs append `&fbclid=…` or `%3Futm_source=…`.
    """
    if SHAPE.fullmatch(text):
        return text
    if len(text) > MAX_PATH_LENGTH:
        return None
    visible = _QUERY.split(_visible(text), maxsplit=1)[0]
    end = len(visible)
    while end and not visible[end - 1].isalnum():
        end -= 1
    return visible[:end] if SHAPE.fullmatch(visible, 0, end) else None


def preview_slug(text: str) -> str | None:
    """The slug in `<slug>+`, the path of the preview page; None for any other path."""
    if len(text) > MAX_PATH_LENGTH:
        return None
    visible = _visible(text)
    end = len(visible)
    while end and not (visible[end - 1].isalnum() or visible[end - 1] == "+"):
        end -= 1
    return visible[: end - 1] if end and visible[end - 1] == "+" else None


def _visible(text: str) -> str:
    return "".join(char for char in unquote(_decoded(text)) if category(char) != "Cf")


def _decoded(text: str) -> str:
    """Decodes a path, whose bytes WSGI passes as Latin-1."""
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text
