"""A link that is asked for, before there is a row of it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from typing import Any, Protocol
from uuid import UUID

import orjson
from django.conf import settings
from django.utils import timezone

from channels.providers.base import Channel
from config.errors import invalid_input
from config.ids import uuid7
from links.addresses import short_hosts, slugs
from links.addresses.short_hosts import Host
from links.models import Link

SLUG_LENGTH, SLUG_LENGTH_IN_MESSAGES = 8, 10
MAX_TRIES = 5
# What strangers can make before anybody has looked at them must not look trusted or last.
PENDING_LIFETIME = 3600  # seconds
HOST_NOT_IN_WHATSAPP = (
    "В WhatsApp ссылки открываются только с домена сервиса: назовите другой канал или уберите host",
    "By WhatsApp links are under the service's own host: name another channel or leave host out",
)


@dataclass(frozen=True, slots=True)
class NewLink:
    """A link to be made: its target and alias checked, its slug drawn when it is written."""

    url: str
    alias: str | None = None
    lifetime: int | None = None  # seconds; None: for ever
    length: int = SLUG_LENGTH_IN_MESSAGES
    host: Host | None = None  # None: the service's own
    is_host_asked: bool = False  # by the request, not by the company's settings
    utm: str = ""
    expired_url: str = ""
    is_once: bool = False
    dies_with_code: bool = False
    is_reused: bool = False  # an equal one that lives will do

    def params(self) -> dict[str, Any]:
        """Fresh at each call, so that a slug already taken is not tried again."""
        slug = self.alias or slugs.generate(self.length)
        host_id = self.host.id if self.host else None
        return {
            "link_id": uuid7(),
            "slug": slug,
            "slug_key": short_hosts.key(host_id, slugs.check_alias(slug) if self.alias else slug),
            "is_alias": self.alias is not None,
            "url": self.url,
            "link_lifetime": self.lifetime,
            "host_id": host_id,
            "utm": self.utm,
            "expired_url": self.expired_url,
            "is_once": self.is_once,
            "dies_with_code": self.dies_with_code,
            "short_url": short_url(slug, self.host),
        }

    def reuse_key(self) -> UUID:
        """The same for requests that one link can answer."""
        host_id = self.host.id if self.host else None
        asked = [host_id, self.url, self.lifetime, self.utm, self.expired_url, self.length]
        return UUID(bytes=blake2b(orjson.dumps(asked), digest_size=16).digest())

    def seconds_left(self, made: Link) -> int | None:
        """All that was asked for, unless the link was there already; None: for ever."""
        if not made.was_there or made.expires_at is None:
            return self.lifetime
        return max(0, round((made.expires_at - timezone.now()).total_seconds()))

    @property
    def sample_url(self) -> str:
        """As long as its short link will be: every slug that is drawn has the same length."""
        return short_url(self.alias or "0" * self.length, self.host)

    def sent_by(self, channels: Collection[str]) -> "NewLink":
        """WhatsApp's button opens links under the one host that its template was approved with."""
        if self.host is None or Channel.WHATSAPP not in channels:
            return self
        if self.is_host_asked:
            raise invalid_input(host=HOST_NOT_IN_WHATSAPP)
        return replace(self, host=None)


def short_url(slug: str, host: Host | None = None) -> str:
    return f"{short_hosts.scheme()}{host.host}/{slug}" if host else f"{settings.SHORT_URL}/{slug}"


class Owner(Protocol):
    """Whose a new link is: the principal of a key, or the cabinet's company."""

    @property
    def company_id(self) -> int: ...
    @property
    def mode(self) -> str: ...


def link_from_params(params: Mapping[str, Any], expires_at: datetime | None) -> Link:
    return Link(
        id=params["link_id"],
        company_id=params["company_id"],
        mode=params["mode"],
        slug=params["slug"],
        key=params["slug_key"],
        is_alias=params["is_alias"],
        url=params["url"],
        expires_at=expires_at,
        host_id=params["host_id"],
        utm=params["utm"],
        expired_url=params["expired_url"],
        is_once=params["is_once"],
        dies_with_code=params["dies_with_code"],
        batch_id=params.get("batch_id"),
    )
