"""Slugs of short links: generated ones, and aliases that people choose.

No alias reads as a page of the service, in any spelling.
"""

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

from catalogue.errors import invalid_input

BRAND = "kvitok"
_WORDS = (
    "2fa abuse account accounting accounts activate admin administrator admins alert api app apps "
    "auth authenticate authorize balance banned bill billing brand cabinet callback callbacks cdn "
    "checkin checkout code codes confirm confirmation console contact contacts credentials "
    "dashboard desk dev developer developers doc docs document documentation documents download "
    "downloads email error errors faq favicon forgot fraud ftp health help helpdesk hook hooks id "
    "identity imap invoice invoices legal license link links live livez localhost log login logon "
    "logout mail manage member members metrics mfa mobile notification notifications null oauth "
    "oauth2 official openid operator otp owner passcode passkey passkeys password passwords pay "
    "payment payments phone ping pop3 pricing privacy private profile public qr readyz recover "
    "recovery redirect refund refunds register registration reset restore root safe safety saml "
    "schema secure security send service services session sessions settings short shorten signin "
    "signon signout signup sms smtp ssl sso staff static stats status subscribe support sys "
    "sysadmin system telegram terms test token tokens tos totp trust undefined unlock unsubscribe "
    "username validate verification verify wallet webhook webhooks webmail well-known whatsapp "
    "www"
)
# Digits and letters that pass for one another, each as one of them.
_ALIKE = str.maketrans(
    {"0": "o", "1": "l", "i": "l", "j": "l", "3": "e", "4": "a", "5": "s", "7": "t", "8": "b"}
)
_SEPARATORS = re.compile(r"[-_]+")


def skeleton(name: str) -> str:
    """The slug with look-alike characters unified, and without hyphens and underscores."""
    plain = _SEPARATORS.sub("", name.lower()).translate(_ALIKE)
    return plain.replace("rn", "m").replace("vv", "w")


_SKELETONS = frozenset(map(skeleton, _WORDS.split()))
_BRAND = skeleton(BRAND)


def reads_as_ours(name: str, routes: Iterable[str] = ()) -> bool:
    """Whether a name reads as the service's: its brand somewhere, one of the words, or several of
    them in a row as in `account-verify`. `routes`: further words.
    """
    skeletons = _SKELETONS.union(map(skeleton, routes))
    if _BRAND in skeleton(name) or skeleton(name) in skeletons:
        return True
    return all(skeleton(part) in skeletons for part in _SEPARATORS.split(name))


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
_RESERVED_WORDS = _("This name is reserved; choose another")


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
    return reads_as_ours(alias, _reserved(settings.ROOT_URLCONF))


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
    match = _LITERAL.match(route.removeprefix("^"))
    return match[0].replace("\\", "") if match else ""
