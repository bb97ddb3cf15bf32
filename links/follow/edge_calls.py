"""What an edge asks of the origin: which row a slug has, and to answer a visit in its stead.

Both are POSTs of JSON with `Authorization: Bearer <id>:<secret>`, one of the origin's EDGE_TOKENS.
An older edge must go on working with a newer origin: fields are added, never renamed.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson
from django.conf import settings

from links.addresses import slugs
from links.follow.pages.visitor_pages import VisitorResponse

PREFIX = "hooks/edge"  # of the paths: a first segment that no link may have already
PING, RESOLVE, VISIT = f"{PREFIX}/ping", f"{PREFIX}/resolve", f"{PREFIX}/visit"

# What a visit is answered and counted by, as a WSGI environ calls it.
_ENVIRON = (
    "REQUEST_METHOD",
    "REMOTE_ADDR",  # the visitor's own, by the edge's proxies
    "CONTENT_TYPE",
    "HTTP_HOST",
    "HTTP_ACCEPT",
    "HTTP_ACCEPT_LANGUAGE",
    "HTTP_USER_AGENT",
    "HTTP_REFERER",
    "HTTP_SEC_FETCH_DEST",
    "HTTP_SEC_FETCH_MODE",
    "HTTP_X_OPERAMINI_PHONE_UA",
    "HTTP_SEC_PURPOSE",
    "HTTP_PURPOSE",
    "HTTP_X_MOZ",
    "HTTP_X_PURPOSE",
)


class SlugQuestion(NamedTuple):
    slug: str
    host_id: int | None

    def pack(self) -> bytes:
        return orjson.dumps({"slug": self.slug, "host_id": self.host_id})


def read_question(body: bytes) -> SlugQuestion:
    """Raises ValueError, LookupError, TypeError or AttributeError."""
    fields = orjson.loads(body)
    slug = _text(fields["slug"])
    if slugs.repair(slug) != slug:
        raise ValueError("not a slug")
    return SlugQuestion(slug, _host_id(fields["host_id"]))


class ForwardedVisit(NamedTuple):
    text: str  # the path without its first slash
    host_id: int | None
    environ: Mapping[str, str]
    form: str  # the body, in Latin-1

    def pack(self) -> bytes:
        return orjson.dumps(self._asdict())


def read_visit(body: bytes) -> ForwardedVisit:
    """Raises ValueError, LookupError, TypeError or AttributeError."""
    fields = orjson.loads(body)
    given = {name: _text(value) for name, value in fields["environ"].items()}
    return ForwardedVisit(
        _text(fields["text"]),
        _host_id(fields["host_id"]),
        {name: given[name] for name in environ_names() if name in given},
        _text(fields["form"]),
    )


def environ_names() -> tuple[str, ...]:
    country = settings.COUNTRY_HEADER
    return (*_ENVIRON, country) if country else _ENVIRON


def pack_response(response: VisitorResponse) -> bytes:
    status, headers, body = response
    return orjson.dumps({"status": status, "headers": headers, "body": body.decode()})


def read_response(body: bytes) -> VisitorResponse:
    fields = orjson.loads(body)
    headers = [(str(name), str(value)) for name, value in fields["headers"]]
    return VisitorResponse(fields["status"], headers, fields["body"].encode())


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("text is expected")
    return value


def _host_id(value: Any) -> int | None:
    if value is not None and not isinstance(value, int):
        raise TypeError("a number is expected")
    return value
