"""Slugs of short links: generated ones, and aliases that people choose."""

import re
import secrets
from collections.abc import Iterable, Iterator
from functools import cache
from unicodedata import category
from urllib.parse import unquote

from django.conf import settings
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RegexPattern
from django.utils.translation import gettext_lazy as _

from config.errors import invalid_input
from links.addresses import reserved_names

# No vowels, so no accidental words; none of 0 O 1 l I, so it survives being read aloud.
ALPHABET = "23456789bcdfghjkmnpqrstvwxyzBCDFGHJKLMNPQRSTVWXYZ"

MAX_PATH_LENGTH = 256  # characters; a longer path is no slug with punctuation appended

_ALIAS = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{1,62}[A-Za-z0-9]")
_QUERY = re.compile(r"[?&;#]")  # where it begins, in spellings that are no query for a browser
_CODE = re.compile(r"[0-9]{4,8}")
_LITERAL = re.compile(r"(?:[\w./-]|\\[.\-/])*")
_STATIC_WORDS = frozenset(
    {
        "accounts",
        "admin",
        "api",
        "apple-app-site-association",
        "cabinet",
        "docs",
        "health",
        "hooks",
        "links",
        "login",
        "logout",
        "media",
        "metrics",
        "null",
        "otp",
        "qr",
        "schema",
        "send",
        "static",
        "undefined",
        "www",
    }
)

_SHAPE_WORDS = _(
    "3–64 characters: Latin letters, digits, hyphens and underscores; "
    "the first and the last one a letter or a digit"
)
_CODE_WORDS = _("A name of 4–8 digits reads as a code; add a letter")
_RESERVED_WORDS = _("The service keeps this name for itself; choose another")


def generate(length: int) -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


def check_alias(alias: object) -> str:
    """Returns the lookup key of a valid alias; the alias itself is stored as typed."""
    if not isinstance(alias, str) or not _ALIAS.fullmatch(alias):
        raise invalid_input(alias=_SHAPE_WORDS)
    if _CODE.fullmatch(alias):
        raise invalid_input(alias=_CODE_WORDS)
    if is_reserved_alias(alias):
        raise invalid_input(alias=_RESERVED_WORDS)
    return alias.lower()


def repair(text: str) -> str | None:
    """Recovers the slug from a mistyped path; None when it cannot be one.

    Messengers and people append the next full stop, bracket or quote to a link, some editors insert
    invisible characters, and some sites and mail programs append `&fbclid=…` or `%3Futm_source=…`.
    """
    if _ALIAS.fullmatch(text):
        return text
    if len(text) > MAX_PATH_LENGTH:
        return None
    visible = _QUERY.split(_visible(text), maxsplit=1)[0]
    end = len(visible)
    while end and not visible[end - 1].isalnum():
        end -= 1
    return visible[:end] if _ALIAS.fullmatch(visible, 0, end) else None


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
    """WSGI hands the bytes of a path over as Latin-1."""
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text


def is_reserved(segment: str) -> bool:
    """Whether the service has a route there, which hides a link of that name."""
    return segment.lower() in _reserved(settings.ROOT_URLCONF)


def is_reserved_alias(alias: str) -> bool:
    """Whether people would mistake it for a page of the service."""
    return reserved_names.is_reserved(alias, _reserved(settings.ROOT_URLCONF))


@cache
def _reserved(urlconf: str) -> frozenset[str]:
    segments = _first_segments(get_resolver(urlconf).url_patterns)
    return _STATIC_WORDS | frozenset(segment.lower() for segment in segments)


def _first_segments(
    patterns: Iterable[URLPattern | URLResolver], prefix: str = ""
) -> Iterator[str]:
    for entry in patterns:
        segment, slash, _ = (prefix + _literal(entry)).partition("/")
        if slash or isinstance(entry, URLPattern):
            yield segment
        else:
            yield from _first_segments(entry.url_patterns, segment)


def _literal(entry: URLPattern | URLResolver) -> str:
    """What a route begins with, up to its first parameter."""
    route = str(entry.pattern)
    if not isinstance(entry.pattern, RegexPattern):
        return route.partition("<")[0]
    found = _LITERAL.match(route.removeprefix("^"))
    return found[0].replace("\\", "") if found else ""
