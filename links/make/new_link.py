"""A requested link before it has a row."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from hashlib import blake2b
from math import ceil
from typing import Any, Protocol
from uuid import UUID

import orjson
from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from catalogue.channels import BY_NAME
from catalogue.errors import DomainError, Error, invalid_input
from catalogue.ids import uuid7
from links.addresses import aliases, short_hosts, slugs
from links.addresses.short_hosts import Host
from links.follow import resolution
from links.models import Link

SLUG_LENGTH = 8
SLUG_LENGTH_IN_MESSAGES = 10
MAX_TRIES = 5
# Links of companies that await approval; these must neither look trusted nor last.
PENDING_LIFETIME = 3600  # seconds
HOST_NOT_IN_WHATSAPP = _(
    "In WhatsApp, links use the service's own host: name another channel or leave host out"
)
ALL_STOPPED = _("All links of the company are stopped, and this one would not open either")


class Owner(Protocol):
    """The owner of a new link: the principal of an API key, or the cabinet's company."""

    @property
    def company_id(self) -> int: ...
    @property
    def mode(self) -> str: ...


@dataclass(frozen=True, slots=True)
class NewLink:
    """A link to make: target and alias are checked; `row` generates the slug."""

    url: str
    alias: str | None = None
    lifetime: int | None = None  # seconds; None: forever
    length: int = SLUG_LENGTH_IN_MESSAGES
    host: Host | None = None  # None: the service's own
    is_host_requested: bool = False  # set by the request, not by the company's settings
    utm: str = ""
    expired_url: str = ""
    is_once: bool = False
    dies_with_code: bool = False
    is_reused: bool = False  # an equal live link suffices

    @classmethod
    def like(cls, link: Link) -> "NewLink":
        """Another link to the same target, which ends at the same time."""
        left = link.expires_at - timezone.now() if link.expires_at else None
        return cls(
            link.url,
            lifetime=ceil(left.total_seconds()) if left else None,
            host=Host(link.host.pk, link.host.host, link.company_id) if link.host else None,
            utm=link.utm,
            expired_url=link.expired_url,
            dies_with_code=link.dies_with_code,
        )

    def row(self, owner: Owner, *, batch_id: UUID | None = None) -> dict[str, Any]:
        """The row by column, created at each call, so that a taken slug is not tried again."""
        slug = self.alias or slugs.generate(self.length)
        host_id = self.host.id if self.host else None
        return {
            "id": uuid7(),
            "company_id": owner.company_id,
            "mode": owner.mode,
            "batch_id": batch_id,
            "slug": slug,
            "key": short_hosts.key(host_id, aliases.check(slug) if self.alias else slug),
            "host_id": host_id,
            "is_alias": self.alias is not None,
            "url": self.url,
            "utm": self.utm,
            "expired_url": self.expired_url,
            "is_once": self.is_once,
            "dies_with_code": self.dies_with_code,
            "reuse_key": self.reuse_key() if self.is_reused else None,
        }

    def reuse_key(self) -> UUID:
        """A key that is equal for requests that one link can serve."""
        host_id = self.host.id if self.host else None
        identity = [host_id, self.url, self.lifetime, self.utm, self.expired_url, self.length]
        return UUID(bytes=blake2b(orjson.dumps(identity), digest_size=16).digest())

    def seconds_left(self, link: Link) -> int | None:
        """The requested lifetime, or what is left of a reused link's; None if it never expires."""
        if not link.is_existing or link.expires_at is None:
            return self.lifetime
        return max(0, round((link.expires_at - timezone.now()).total_seconds()))

    @property
    def sample_url(self) -> str:
        """A URL as long as the short one: every generated slug has the same length."""
        return short_url(self.alias or "0" * self.length, self.host)

    def for_channels(self, names: Collection[str]) -> "NewLink":
        """The link for a message by these channels, under our host if WhatsApp is one.

        WhatsApp's button opens links only under the host that its template was approved with.
        """
        if self.host is None or not any(BY_NAME[name].has_link_button for name in names):
            return self
        if self.is_host_requested:
            raise invalid_input(host=HOST_NOT_IN_WHATSAPP)
        return replace(self, host=None)


def check_not_stopped(owner: Owner) -> None:
    """Refuses to send a link that would not open, and be charged, while all links are stopped."""
    if resolution.are_stopped(owner.company_id):
        raise DomainError(Error.FORBIDDEN, message=ALL_STOPPED)


def short_url(slug: str, host: Host | None = None) -> str:
    return f"{short_hosts.scheme()}{host.host}/{slug}" if host else f"{settings.SHORT_URL}/{slug}"
