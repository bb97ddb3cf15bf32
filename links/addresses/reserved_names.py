"""Names that no alias may have in any spelling: the service's pages, its brand, trust words."""

import re
from collections.abc import Iterable, Iterator
from functools import cache

from django.conf import settings
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RegexPattern

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
# Look-alike digits and letters, each mapped to one of them.
_ALIKE = str.maketrans(
    {"0": "o", "1": "l", "i": "l", "j": "l", "3": "e", "4": "a", "5": "s", "7": "t", "8": "b"}
)
_SEPARATORS = re.compile(r"[-_]+")


def skeleton(name: str) -> str:
    """The slug with look-alike characters unified and without hyphens and underscores."""
    plain = _SEPARATORS.sub("", name.lower()).translate(_ALIKE)
    return plain.replace("rn", "m").replace("vv", "w")


_SKELETONS = frozenset(map(skeleton, _WORDS.split()))
_BRAND = skeleton(BRAND)


def reads_as_ours(name: str, routes: Iterable[str] = ()) -> bool:
    """Whether a name reads as the service's. `routes`: further reserved words.

    It does if it contains the brand, is a reserved word, or is several of them in a row as in
    `account-verify`.
    """
    skeletons = _SKELETONS.union(map(skeleton, routes))
    if _BRAND in skeleton(name) or skeleton(name) in skeletons:
        return True
    return all(skeleton(part) in skeletons for part in _SEPARATORS.split(name))


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


def is_reserved(segment: str) -> bool:
    """Whether the service has a route at this path, which would hide a link of that name."""
    return segment.lower() in _reserved_words(settings.ROOT_URLCONF)


def is_reserved_alias(alias: str) -> bool:
    """Whether people would mistake the alias for a page of the service."""
    return reads_as_ours(alias, _reserved_words(settings.ROOT_URLCONF))


@cache
def _reserved_words(urlconf: str) -> frozenset[str]:
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
    """The beginning of a route, up to its first parameter."""
    route = str(entry.pattern)
    if not isinstance(entry.pattern, RegexPattern):
        return route.partition("<")[0]
    match = _LITERAL.match(route.removeprefix("^"))
    return match[0].replace("\\", "") if match else ""
