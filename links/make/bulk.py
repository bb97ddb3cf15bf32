"""Many links in one request: a result for each, and no query for each."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from accounts.api import test_quotas
from accounts.models import Mode
from config.errors import DomainError, Error
from links.follow import resolution
from links.make import reuse
from links.make.new_link import MAX_TRIES, NewLink, Owner, link_from_params
from links.models import Link

MAX_LINKS = 1000

# As in `sql.RETIRE`; locked in one order, since another batch may want the same names.
RETIRE = """
UPDATE links_link SET retired_at = now() WHERE id IN (
  SELECT id FROM links_link
  WHERE key = ANY(%(keys)s::text[]) AND is_alias AND retired_at IS NULL AND NOT is_barred
    AND (disabled_at IS NOT NULL OR used_at IS NOT NULL OR expires_at <= now())
    AND ((company_id = %(company_id)s AND mode = %(mode)s::text)
         OR GREATEST(disabled_at, used_at, expires_at) < now() - interval '90 days')
    AND NOT EXISTS (SELECT FROM links_stop s WHERE s.is_operators
                    AND s.company_id = links_link.company_id AND s.batch_id = links_link.batch_id)
  ORDER BY id FOR UPDATE)
"""

# Ordered by name for the same reason, and so that of two equal names in a batch the first one wins.
INSERT = """
INSERT INTO links_link (id, company_id, mode, slug, key, is_alias, url, expires_at, host_id, utm,
                        expired_url, is_once, batch_id)
SELECT n.id, %(company_id)s, %(mode)s::text, n.slug, n.key, n.is_alias, n.url,
  now() + make_interval(secs => n.lifetime), n.host_id, n.utm, n.expired_url, n.is_once,
  %(batch_id)s::uuid
FROM unnest(%(link_id)s::uuid[], %(slug)s::text[], %(slug_key)s::text[], %(is_alias)s::bool[],
            %(url)s::text[], %(link_lifetime)s::float[], %(host_id)s::bigint[], %(utm)s::text[],
            %(expired_url)s::text[], %(is_once)s::bool[]) WITH ORDINALITY
  AS n(id, slug, key, is_alias, url, lifetime, host_id, utm, expired_url, is_once, position)
ORDER BY n.key, n.position ON CONFLICT DO NOTHING RETURNING id, expires_at
"""
COLUMNS = (
    "link_id",
    "slug",
    "slug_key",
    "is_alias",
    "url",
    "link_lifetime",
    "host_id",
    "utm",
    "expired_url",
    "is_once",
)

Result = Link | DomainError


def shorten_many(*, owner: Owner, wanted: Sequence[NewLink], batch_id: UUID) -> list[Result]:
    """In the order asked for; a name that is taken is that item's error alone."""
    with transaction.atomic():
        if owner.mode == Mode.TEST:
            test_quotas.consume(owner.company_id, "links", len(wanted))
        found = _reuse(owner, wanted, batch_id)
        _retire(owner, [one for one in wanted if one.alias])
        for left in reversed(range(MAX_TRIES)):
            open_items = [n for n in range(len(wanted)) if n not in found]
            if not open_items:
                break
            found |= _insert(owner, {n: wanted[n] for n in open_items}, batch_id, is_last=not left)
    aliases = [one for one in found.values() if isinstance(one, Link) and one.is_alias]
    if aliases:
        transaction.on_commit(lambda: resolution.cache_new(*aliases))
    return [found[n] for n in range(len(wanted))]


def _reuse(owner: Owner, wanted: Sequence[NewLink], batch_id: UUID) -> dict[int, Result]:
    asked = {n: one for n, one in enumerate(wanted) if one.is_reused}
    if not asked:
        return {}
    links = reuse.find_or_create(owner=owner, wanted=list(asked.values()), batch_id=batch_id)
    return dict(zip(asked, links, strict=True))


def _retire(owner: Owner, wanted: Sequence[NewLink]) -> None:
    keys = [one.params()["slug_key"] for one in wanted]
    if keys:
        with connection.cursor() as cursor:
            cursor.execute(
                RETIRE, {"keys": keys, "company_id": owner.company_id, "mode": owner.mode}
            )


def _insert(
    owner: Owner, wanted: Mapping[int, NewLink], batch_id: UUID, *, is_last: bool
) -> dict[int, Result]:
    """What was made, and what cannot be; a drawn slug that is taken is left for another draw."""
    own: dict[str, Any] = {"company_id": owner.company_id, "mode": owner.mode, "batch_id": batch_id}
    params = {n: one.params() | own for n, one in wanted.items()}
    columns = {name: [one[name] for one in params.values()] for name in COLUMNS}
    with connection.cursor() as cursor:
        cursor.execute(INSERT, own | columns)
        expiries: dict[UUID, datetime | None] = dict(cursor.fetchall())
    found: dict[int, Result] = {}
    for n, one in params.items():
        if one["link_id"] in expiries:
            found[n] = link_from_params(one, expiries[one["link_id"]])
        elif one["is_alias"]:
            found[n] = DomainError(Error.ALIAS_TAKEN)
        elif is_last:
            raise DomainError(Error.UNAVAILABLE, retry_after=1)
    return found
