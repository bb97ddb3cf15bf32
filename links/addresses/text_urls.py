"""Checks addresses in the free text of a message like `url`, because people follow them too.

A phone turns everything that looks like a link into one: with or without a scheme, in any alphabet.
The text is read as such a program may read it, in plain characters and without invisible ones.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from catalogue.errors import DomainError, Error
from catalogue.texts import StrOrPromise
from links.addresses import target_urls
from parsing.characters import as_seen
from parsing.hosts import top_level_domains

# Patterns start at the start of a run of their characters: one that retries at each of them takes
# quadratic time, and one character of a text becomes up to eighteen.
_SCHEME = re.compile(r"(?<![A-Za-z0-9+.-])([A-Za-z0-9+.-]+):[/\\]{2}")
_SCHEME_START = re.compile(r"(?<![^\W_])[A-Za-z]")
_SPACE_OR_QUOTE = re.compile(r"[\s<>\"«»“”]")
# Some registries sell names with emoji and symbols. Before a name's first letter they are
# decoration.
_ANY = r"[^\s\x00-,./:-@\[-^`{-\x7f]"
_LABELS = re.compile(rf"{_ANY}+(?:\.{_ANY}+)*")
_LETTER = re.compile(r"[\w-]")
_LOCALHOST = re.compile(r"(?<![\w-])localhost\Z", re.IGNORECASE)
_WORD = re.compile(r"[\w-]+")
_LATIN_WORD = re.compile(r"[a-z0-9]+", re.IGNORECASE)
_IPV4 = re.compile(r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![\w.-])")
# .москва is both a top-level domain and a town.
_TOWN = re.compile(
    r"(?:[гсдпмх]|гор|дер|пос|пгт|ул|пер|пр|просп|пл|наб|обл|ст|им)\.Москва", re.IGNORECASE
)
_DOTS = re.compile(r"[。．｡]|\s?[\[({]\s?(?:\.|dot)\s?[\])}]\s?", re.IGNORECASE)


def check(text: str, *, target: str, allowed: Iterable[str]) -> None:
    """Raises `url_not_allowed` unless each address leads to an allowed site.

    Allowed are the site of `target`, the short link's target, and the sites that the company lists.
    """
    listed = frozenset(allowed)
    home = _site(urlsplit(target).hostname or "")
    for address in addresses(text):
        if reason := _refusal_reason(address, home, listed):
            fault = format_lazy(
                _("The text has {address}. {reason}"), address=address, reason=reason
            )
            raise DomainError(Error.URL_NOT_ALLOWED, message=fault, errors={"text": [fault]})


_OTHER_SITE = _(
    "Besides the short link, a text may contain addresses of its site and of the sites listed "
    "in the company's settings. If this is not an address, put a space after the full stop"
)


def _refusal_reason(address: str, home: str, listed: frozenset[str]) -> StrOrPromise | None:
    try:
        host = target_urls.host_of(address, allowed=listed)
    except DomainError as error:
        (reason, *_others) = next(iter((error.errors or {"": [error.message]}).values()))
        return reason
    return None if listed or _site(host) == home else _OTHER_SITE


def _site(host: str) -> str:
    return host.removeprefix("www.")


def addresses(text: str) -> Iterator[str]:
    """The addresses: text from a scheme to the next space, and hosts under a top-level domain."""
    rest = _DOTS.sub(".", as_seen(text))
    bare = []
    read_to = 0
    for scheme in _SCHEME.finditer(rest):
        start = _SCHEME_START.search(rest, scheme.start(), scheme.end(1))
        # This is no scheme, or is a part of the previous address.
        if start is None or start.start() < read_to:
            continue
        end = _SPACE_OR_QUOTE.search(rest, scheme.end())
        stop = end.start() if end else len(rest)
        yield rest[start.start() : stop].rstrip(".,;:!?)]}'…")
        bare.append(rest[read_to : start.start()])
        read_to = stop
    rest = " ".join([*bare, rest[read_to:]])
    rest = "".join(" " if _is_separator(char) else char for char in rest)
    for host, is_alone in _hosts(rest):
        if is_alone and _TOWN.fullmatch(host):
            continue
        if name := _named_host(host):
            yield name


def _hosts(text: str) -> Iterator[tuple[str, bool]]:
    """The possible hosts in the text, and whether each is followed by neither a path nor a port."""
    for labels in _LABELS.finditer(text):
        is_alone = text[labels.end() : labels.end() + 1] not in {"/", ":"}
        first, dot, _others = labels[0].partition(".")
        if dot:
            letter = _LETTER.search(first)
            yield labels[0][letter.start() if letter else 0 :], is_alone
        elif not is_alone and (local := _LOCALHOST.search(first)):
            yield local[0], is_alone


def _is_separator(char: str) -> bool:
    return not char.isascii() and unicodedata.category(char)[0] in "PZ"


def _named_host(text: str) -> str | None:
    """The longest beginning of the text that ends in a top-level domain, or is an IPv4 address."""
    if "." not in text:
        return text
    if address := _IPV4.match(text):
        return address[0]
    labels = text.split(".")
    for count in range(len(labels), 1, -1):
        if ending := _ending(labels[count - 1]):
            return ".".join([*labels[: count - 1], ending])
    return None


def _ending(label: str) -> str | None:
    """The top-level domain at the start of the label; None if there is none.

    The link that a phone makes ends at «❤», «_» or «-».
    """
    matches = (_WORD.match(label), _LATIN_WORD.match(label))
    beginnings = [label, *(match[0].rstrip("-_") for match in matches if match)]
    return next((word for word in beginnings if word.lower() in top_level_domains()), None)
