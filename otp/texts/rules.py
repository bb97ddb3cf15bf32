"""Validates a company's own text and autofill lines.

A text has the code exactly once and nothing usable for phishing: people trust a message with a code
they asked for. So it has no address and no number of its
own: the only link is a short link, whose target was checked.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from math import ceil
from unicodedata import category, name

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from channels.providers import gsm
from links.addresses import text_urls
from links.make.new_link import SLUG_LENGTH_IN_MESSAGES, short_url
from otp.texts.rendering import BRAND_UNITS, VARIABLES, compose, fill, max_minutes
from parsing.characters import as_seen, is_line
from parsing.hosts import HostError, ascii_host

ANDROID_MAX_BYTES = 140  # SMS Retriever ignores longer messages
# https://developers.google.com/identity/sms-retriever/verify: base64, cut to eleven characters.
_HASH = re.compile(r"(?=.*[A-Z])(?=.*[a-z])(?!.*\d{6})[A-Za-z0-9+/]{11}")
_HOST_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"(?:{_HOST_LABEL}\.)+(?!\d+$){_HOST_LABEL}")


def check_host(text: str) -> str:
    """The host in lower case, international names in Punycode; raises ValidationError."""
    try:
        host = ascii_host(text.strip())
    except HostError:
        host = ""
    if not _HOST.fullmatch(host):
        raise ValidationError(
            _("Only the name of a site, without https:// and without a path: example.com.")
        )
    return host


def check_hash(text: str) -> str:
    if not _HASH.fullmatch(text):
        raise ValidationError(
            _("Eleven characters: Latin letters, digits, + and /, as Google's tool gives them.")
        )
    return text


MAX_CODE_LENGTH = 8
_BRACED = re.compile(r"\{([^{}\n]*)\}")
# Also rejects a digit separated by a single mark, and a combining mark on the last digit.
_CODE_ALONE = re.compile(
    r"(?<![\w}])(?<!\d[^\w\s])\{code\}(?![\w{]|[^\w\s]\d|[\u0300-\u036f\ufe00-\ufe0f])"
)
_LINK = re.compile(r"(?<!\S)\{link\}(?!\S)")
_LABEL = r"(?:[\w-]|\{\w+\})+"
# Each match begins at the start of its run of characters; otherwise the time would be quadratic.
_ADDRESS = re.compile(
    r"(?<!\S)\S*://\S*|(?<!\S)\S*@\S*|"
    rf"(?<![\w-]){_LABEL}[.。．｡](?:[^\W\d_]{{2,}}|\{{\w+\}})\S*"
)
_NUMBER = re.compile(r"\d(?:(?:[^\w{}\n]|_)*\d){3,}")


def check(body: str, variables: Sequence[str] = VARIABLES) -> None:
    """Raises ValidationError with every fault of a normalised text."""
    faults = [*_variables(body, variables), *(fault for rule in _RULES for fault in rule(body))]
    if faults:
        raise ValidationError(faults)


def _variables(body: str, variables: Sequence[str]) -> Iterator[str]:
    names = ", ".join(f"{{{variable}}}" for variable in variables)
    for variable in dict.fromkeys(_BRACED.findall(body)):
        if variable not in variables:
            values = {"name": f"{{{variable}}}", "known": names}
            yield _("There is no variable %(name)s: there are %(known)s.") % values
    if set("{}") & set(_BRACED.sub("", body)):
        yield _("Braces may only enclose the name of a variable: %(known)s.") % {"known": names}


def _code(body: str) -> Iterator[str]:
    count = body.count("{code}")
    if count == 0:
        yield _("Put {code} where the code should appear.")
    elif count > 1:
        yield _("{code} may appear only once.")
    elif not _CODE_ALONE.search(body):
        yield _("Only a space or a punctuation mark may touch {code}.")


def _link(body: str) -> Iterator[str]:
    count = body.count("{link}")
    if count > 1:
        yield _("{link} may appear only once.")
    elif count and not _LINK.search(body):
        yield _("Put a space or a new line before {link} and after it.")
    if any("{link}" in line and "{code}" in line for line in body.split("\n")):
        yield _(
            "Put {link} on a line of its own: the line is left out when a code is sent "
            "without a link."
        )


def _invisible(body: str) -> Iterator[str]:
    for char in dict.fromkeys(body):
        if char != "\n" and not is_line(char):
            yield _("The invisible character %(name)s is not allowed.") % {
                "name": describe_character(char)
            }


def addresses(body: str) -> Iterator[str]:
    match = _ADDRESS.search(as_seen(body))
    if address := match[0] if match else next(text_urls.addresses(body), None):
        yield _("An address is not allowed: “%(text)s”. Put a space after a full stop.") % {
            "text": address
        }


def _numbers(body: str) -> Iterator[str]:
    if match := _NUMBER.search(as_seen(body)):
        yield _(
            "Four or more digits in a row are not allowed: “%(text)s”. They could be a phone "
            "number or be mistaken for the code."
        ) % {"text": match[0]}


_RULES: Sequence[Callable[[str], Iterator[str]]] = (
    _code,
    _link,
    _invisible,
    addresses,
    _numbers,
)


def describe_character(char: str) -> str:
    """The character as «’» U+2019 RIGHT SINGLE QUOTATION MARK; an invisible one without a glyph."""
    glyph = "" if category(char)[0] in "CZ" else f"«{char}» "
    return f"{glyph}U+{ord(char):04X} {name(char, '')}".strip()


def max_segments(body: str, tail: Sequence[str]) -> int:
    """The number of SMS segments of a text with the longest brand, code and link."""
    text = fill(
        compose(body, has_link=True, tail=tail),
        code="0" * MAX_CODE_LENGTH,
        brand="Ж" * BRAND_UNITS,
        minutes=max_minutes(),
        link=short_url("0" * SLUG_LENGTH_IN_MESSAGES),
    )
    counted = gsm.count_segments(text)
    if "{brand}" not in body or counted.segments == 1:
        return counted.segments
    # Two-unit emoji in the brand may leave the last unit of each segment empty.
    _single, joined = gsm.SIZES_BY_ENCODING["UCS-2"]
    return ceil(counted.units / (joined - 1))


def check_length(body: str, tail: Sequence[str]) -> None:
    count = max_segments(body, tail)
    if count > settings.MAX_SMS_SEGMENTS:
        raise ValidationError(
            _(
                "As an SMS this takes %(count)d parts with the longest brand and link; "
                "%(maximum)d are allowed."
            )
            % {"count": count, "maximum": settings.MAX_SMS_SEGMENTS}
        )
