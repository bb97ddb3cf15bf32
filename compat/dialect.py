"""What a dialect declares, and how its clients present their keys."""

import base64
import binascii
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from accounts.keys import api_keys
from accounts.keys.api_keys import Principal
from catalogue.errors import DomainError, Error

Headers = Mapping[str, Any]  # of a request, under their names in WSGI: HTTP_AUTHORIZATION, …


class Answer(NamedTuple):
    """An answer in a dialect; no body: nothing follows the headers."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = {}
    content_type: str = "application/json"


Authenticate = Callable[[Headers], Principal | None]


@dataclass(frozen=True, slots=True)
class Dialect:
    """`refuse` writes a refusal, whose request id is the last argument, by the row of `errors`.
    A test proves that every member of `Error` has a row, and that none of them fails to be written.
    """

    name: str  # of the folder, in addresses and in the messages' `door`
    title: str  # as the vendor calls it
    documentation: str  # the vendor's page
    authenticate: tuple[Authenticate, ...]  # the ways to present a key, tried in turn
    errors: Mapping[Error, Any]
    refuse: Callable[[DomainError, str], Answer]
    challenge: str = "Bearer"  # the WWW-Authenticate of a refusal for want of a key
    # Paths below the dialect's whose bodies arrive before the sender is known: of tokens, say.
    open_paths: frozenset[str] = frozenset()
    # What a client's settings hold beside address and key, under the vendor's names: made of the
    # company, mode and purpose of the key.
    facts: Callable[[int, str, str], Mapping[str, str]] = lambda *_key: {}
    # Headers of a request that every answer to it repeats.
    echoed: Callable[[Headers], Mapping[str, str]] = lambda _headers: {}

    @property
    def path(self) -> str:
        return f"/compat/{self.name}"

    def find(self, headers: Headers) -> Principal | None:
        """Whose key the headers present."""
        for way in self.authenticate:
            principal = way(headers)
            if principal is not None:
                return principal
        return None


def credentials(headers: Headers, scheme: str) -> str:
    """What follows the scheme; empty for another one."""
    named, _, rest = str(headers.get("HTTP_AUTHORIZATION", "")).strip().partition(" ")
    return rest.strip() if named.lower() == scheme.lower() else ""


def by_scheme(scheme: str) -> Authenticate:
    """`Authorization: <scheme> <key>`."""
    return lambda headers: api_keys.find(credentials(headers, scheme))


by_bearer = by_scheme("Bearer")  # RFC 6750


def basic_credentials(headers: Headers) -> tuple[str, str]:
    """User and password of RFC 7617; both empty if there are none."""
    try:
        decoded = base64.b64decode(credentials(headers, "Basic"), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return "", ""
    user, _, password = decoded.partition(":")
    return user, password


def by_basic_password(headers: Headers) -> Principal | None:
    """The password is the key; the user may be any, as clients insist on one."""
    return api_keys.find(basic_credentials(headers)[1])


@lru_cache(maxsize=4096)
def derived_id(dialect: str, *facts: object) -> str:
    """32 hexadecimal digits that never change, as clients have them in their settings. No secret:
    the key is.
    """
    text = ":".join(map(str, (dialect, *facts)))
    return hashlib.sha256(text.encode()).hexdigest()[:32]
