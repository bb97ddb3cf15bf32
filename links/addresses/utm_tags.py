"""A company's UTM tags, such as `utm_source=acme&utm_medium={channel}`, added to links' targets."""

import re
from urllib.parse import parse_qsl, quote, unquote_plus

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from catalogue.errors import invalid_input
from catalogue.texts import StrOrPromise
from parsing.characters import is_line

MAX_LENGTH = 300
CHANNEL_PLACEHOLDER = "{channel}"

_KEY = re.compile(r"[a-z0-9_]+")
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_NOT_IN_VALUE = re.compile(r"[=#?/\\\"'<>\s]")
_SAFE = "-._~%:,+{}"

_PAIRS = _(
    "Pairs of key=value joined by &; keys of lower-case Latin letters, digits and underscores"
)
_TWICE = _("Each key once")
_PLACEHOLDER = _("The only placeholder is {channel}")
_TOO_LONG = format_lazy(_("At most {max} characters"), max=MAX_LENGTH)


def add_tags(url: str, utm: str, channel: str) -> str:
    """Adds the missing tags to the target, before its fragment."""
    if not utm:
        return url
    address, hash_, fragment = url.partition("#")
    base, _mark, query = address.partition("?")
    present = {name for name, _value in parse_qsl(query, keep_blank_values=True)}
    tags = [
        tag
        for tag in utm.replace(CHANNEL_PLACEHOLDER, channel).split("&")
        if unquote_plus(tag.partition("=")[0]) not in present
    ]
    new_query = "&".join(filter(None, [query.rstrip("&"), *tags]))
    return f"{base}?{new_query}{hash_}{fragment}" if any(tags) else url


def check_tags(text: str) -> str:
    """The tags in their stored form, ASCII only; raises a DomainError."""
    fault, tags = _read(text.strip().removeprefix("?"))
    if fault:
        raise invalid_input(utm=fault)
    return tags


def _read(text: str) -> tuple[StrOrPromise | None, str]:
    if not text:
        return None, ""
    pairs = [pair.partition("=") for pair in text.split("&")]
    names = [name for name, _equals, _value in pairs]
    values = [value for _name, _equals, value in pairs]
    tags = "&".join(f"{name}={_encode(value)}" for name, _equals, value in pairs)
    if not all(map(_KEY.fullmatch, names)) or not all(map(_is_value, values)):
        return _PAIRS, ""
    if len(set(names)) < len(names):
        return _TWICE, ""
    if any(brace in value.replace(CHANNEL_PLACEHOLDER, "") for value in values for brace in "{}"):
        return _PLACEHOLDER, ""
    return (_TOO_LONG, "") if len(tags) > MAX_LENGTH else (None, tags)


def _is_value(value: str) -> bool:
    return is_line(value) and bool(value) and not _NOT_IN_VALUE.search(value)


def _encode(value: str) -> str:
    return quote(_STRAY_PERCENT.sub("%25", value), safe=_SAFE, errors="replace")
