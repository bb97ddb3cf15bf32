"""Checks the target of a short link, strictly, so that no two URL parsers disagree about it.

Allowed on purpose: the reserved names `.test`, `.example` and `.invalid`, which lead nowhere and
serve documentation and tests. Refused: names that a private network answers.
"""

import re
import unicodedata
from collections.abc import Iterable
from importlib.resources import files
from urllib.parse import quote, urlsplit

from django.conf import settings
from django.db.backends.utils import CursorWrapper
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from catalogue.errors import DomainError, Error, invalid_input
from catalogue.texts import StrOrPromise
from links.addresses import short_hosts
from parsing.characters import is_line
from parsing.hosts import HostError, ascii_host, unicode_label
from storage.process_cache import SnapshotCache

MAX_LENGTH = 2048

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^#]*)(#.*)?", re.DOTALL)
_PORT = re.compile(r"[0-9]{1,5}")
_SPACE = re.compile(r"\s")
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
# A last label that browsers read as a number makes the whole host an IPv4 address.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_SAFE = "/?:@!$&'()*+,;=-._~[]%"

_NONE: frozenset[str] = frozenset()


def _name_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LOCAL = _name_set(
    "localhost local localdomain internal intranet private corp lan home home.arpa "
    "localtest.me lvh.me nip.io sslip.io xip.io"
)
# The operator blocks shorteners that this list lacks. An imitation (bıt.ly) is a site like any
# other, and a redirecting page (google.com/url) is known only to its site.
_SHORTENERS = _name_set(
    re.sub("#.*", "", (files(__package__) / "shorteners.txt").read_text("utf-8"))
)

# Scripts that one word may mix, by Unicode's "highly restrictive" profile.
_WORD_SCRIPTS = (
    {"LATIN", "CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"},
    {"LATIN", "CJK", "HANGUL"},
    {"LATIN", "CJK", "BOPOMOFO"},
)
# Cyrillic letters that look like Latin ones: a label of only these under a Latin ending is bait.
_LOOKALIKES = frozenset("асԁеһіјӏорԛѕԝхуъьҽпгѵѡ")
# UTS 46 allows slashes, colons and dots of other scripts in a name, where they imitate a path.
_PUNCTUATION = {"Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc"}
_IN_WORDS = frozenset("-·・׳״͵")  # accepted by IDNA 2008

_NOT_TEXT = _("Specify the URL as a string")
_TOO_LONG = format_lazy(_("The URL is longer than {max} characters"), max=MAX_LENGTH)
_HAS_INVISIBLE = _("The URL contains a space, a backslash or an invisible character")
_NOT_URL = _("Specify a full URL that begins with http:// or https://")
_USERINFO = _("A user name or password in the URL is not accepted")
_BAD_PORT = _("The port must be from 1 to 65535")
_BAD_HOST = _("The host name in the URL is not valid")

IP_ADDRESS = _("A URL with an IP address is not accepted; use a host name")
_PRIVATE = _("The URL leads to a local address that is not on the internet")
_LEADS_BACK = _("The URL leads back to this service")
_SHORTENED = _("The URL is already shortened by another service; specify the original one")
_DECEPTIVE = _("The host name imitates another with look-alike letters")
_BLOCKED = _("Links to this site are blocked")
_NOT_LISTED = _("This site is not among the allowed sites in the company's settings")
_NOT_SITE = _("Specify a site: example.com")


def check_target(url: object, field: str = "url", *, allowed: Iterable[str] = ()) -> str:
    """The URL in its stored form, ASCII only; raises a DomainError on `field`.

    `allowed`: the only sites it may lead to, including their subdomains; none: any site.
    """
    try:
        return _normalise(url, frozenset(allowed))
    except _ForbiddenError as forbidden:
        raise DomainError(
            Error.URL_NOT_ALLOWED, message=forbidden.text, errors={field: [forbidden.text]}
        ) from None
    except _InvalidError as invalid:
        raise invalid_input(**{field: invalid.text}) from None


def host_of(address: str, *, allowed: Iterable[str] = ()) -> str:
    """The host of a URL, or of an address without a scheme; refused as by `check_target`."""
    url = address if "://" in address else f"http://{address}"
    return urlsplit(check_target(url, allowed=allowed)).hostname or ""


def check_site(name: object) -> str:
    """A public host, in lower case and ASCII; raises a DomainError."""
    try:
        host = _host(str(name).strip().removeprefix("*."))
    except _InvalidError as invalid:
        text = _NOT_SITE if invalid.text is _BAD_HOST else invalid.text
        raise invalid_input(host=text) from None
    if reason := _reason_never_allowed(host, _domains(host)):
        raise invalid_input(host=reason)
    return host


def is_blocked(url: str) -> bool:
    """Whether the site of a stored target has been blocked since."""
    return is_blocked_site(_domains(urlsplit(url).hostname or ""))


def check_still_allowed(*urls: str) -> None:
    if any(map(is_blocked, urls)):
        raise DomainError(Error.URL_NOT_ALLOWED, message=_BLOCKED)


class _InvalidError(Exception):
    def __init__(self, text: StrOrPromise) -> None:
        super().__init__(text)
        self.text = text


class _ForbiddenError(_InvalidError):
    """A valid URL to which no link may lead."""


def _normalise(url: object, allowed: frozenset[str]) -> str:
    if not isinstance(url, str):
        raise _InvalidError(_NOT_TEXT)
    text = url.strip(" \t\r\n")
    if len(text) > MAX_LENGTH:
        raise _InvalidError(_TOO_LONG)
    if "\\" in text or not (is_line(text) and not _SPACE.search(text)):
        raise _InvalidError(_HAS_INVISIBLE)
    match = _URL.fullmatch(text)
    if match is None or match[1].lower() not in {"http", "https"}:
        raise _InvalidError(_NOT_URL)
    normal = f"{match[1].lower()}://{_authority(match[2], allowed)}{_encode(match[3])}"
    if match[4]:
        normal += "#" + _encode(match[4][1:])
    if len(normal) > MAX_LENGTH:
        raise _InvalidError(_TOO_LONG)
    return normal


def _encode(text: str) -> str:
    """Percent-encodes characters that a URL may not contain; existing encoding stays."""
    return quote(_STRAY_PERCENT.sub("%25", text), safe=_SAFE)


def _authority(text: str, allowed: frozenset[str]) -> str:
    if "@" in text:
        raise _InvalidError(_USERINFO)
    if text.startswith("["):
        raise _ForbiddenError(IP_ADDRESS)
    name, _colon, port = text.partition(":")
    host = _host(name)
    reason = _refusal_reason(host, allowed)
    if reason is not None:
        raise _ForbiddenError(reason)
    return f"{host}:{_port(port)}" if port else host


def _port(text: str) -> int:
    if not _PORT.fullmatch(text) or not 0 < int(text) < 65_536:
        raise _InvalidError(_BAD_PORT)
    return int(text)


def _host(text: str) -> str:
    try:
        host = ascii_host(text)
    except HostError:
        raise _InvalidError(_BAD_HOST) from None
    labels = [unicode_label(label) for label in host.split(".")]
    if any(_is_deceptive(word, labels[-1]) for word in labels):
        raise _ForbiddenError(_DECEPTIVE)
    return host


def _is_deceptive(word: str, ending: str) -> bool:
    if word.isascii():
        return False
    if any(unicodedata.category(char) in _PUNCTUATION for char in word if char not in _IN_WORDS):
        return True
    letters = [char for char in word if char.isalpha()]
    scripts = {unicodedata.name(char, "UNKNOWN").split()[0] for char in letters}
    if len(scripts) > 1:
        return not any(scripts <= allowed for allowed in _WORD_SCRIPTS)
    return ending.isascii() and bool(letters) and _LOOKALIKES.issuperset(letters)


def _refusal_reason(host: str, allowed: frozenset[str]) -> StrOrPromise | None:
    domains = _domains(host)
    if reason := _reason_never_allowed(host, domains):
        return reason
    if short_hosts.is_ours(host):
        return _LEADS_BACK
    if is_blocked_site(domains):
        return _BLOCKED
    if allowed:
        return _NOT_LISTED if domains.isdisjoint(allowed) else None
    return None if _SHORTENERS.isdisjoint(domains) else _SHORTENED


def _reason_never_allowed(host: str, domains: set[str]) -> StrOrPromise | None:
    """The reason why no link may lead to this host, whatever the company's settings."""
    if _NUMBER.fullmatch(host.rpartition(".")[2]):
        return IP_ADDRESS
    return _PRIVATE if "." not in host or not _LOCAL.isdisjoint(domains) else None


def _domains(host: str) -> set[str]:
    """`a.b.c` → `a.b.c`, `b.c`, `c`: the host and all its parent domains."""
    labels = host.split(".")
    return {".".join(labels[start:]) for start in range(len(labels))}


def _read(cursor: CursorWrapper) -> frozenset[str]:
    cursor.execute("SELECT host FROM links_blockedhost")
    return frozenset(host for (host,) in cursor)


_blocked = SnapshotCache("blocked_hosts", _read, _NONE)
invalidate_blocked_sites = _blocked.invalidate


def is_blocked_site(domains: set[str]) -> bool:
    """Whether the operator blocks a host; `domains` are the host and all its parent domains."""
    return not (domains.isdisjoint(_blocked.get()) and domains.isdisjoint(settings.LINK_BLOCKLIST))
