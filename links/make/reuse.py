"""Finds an equal live link for a request with `reuse`, or makes one."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import IntegrityError, connection, transaction

from channels.accept import acceptance
from links.make.new_link import MAX_TRIES, NewLink, Owner, link_from_params
from links.models import Link

_IS_LIVE = """
(l.disabled_at IS NULL AND (l.expires_at IS NULL OR l.expires_at > now())
 AND NOT EXISTS (SELECT FROM links_stop s
                 WHERE s.company_id = l.company_id AND s.batch_id = l.batch_id))"""
# IS NOT NULL is redundant, but the planner uses the partial index only with it.
_EQUAL = """
l.company_id = %(company_id)s AND l.mode = %(mode)s::text
AND l.reuse_key = ANY(%(reuse_key)s::uuid[]) AND l.reuse_key IS NOT NULL"""

# Live links are found; dead ones give up their keys, locked in one order; new links are made for
# the rest. The unique index decides between concurrent requests; ON CONFLICT returns the earlier
# row to the later request, whose snapshot does not show it.
_FIND_OR_CREATE = f"""
WITH found AS (
  SELECT l.reuse_key, l.id, l.slug, l.key, l.expires_at
  FROM links_link l WHERE {_EQUAL} AND {_IS_LIVE}),
dead AS (
  UPDATE links_link SET reuse_key = NULL WHERE id IN (
    SELECT l.id FROM links_link l WHERE {_EQUAL} AND NOT {_IS_LIVE} ORDER BY l.id FOR UPDATE)
  RETURNING id),
made AS (
  INSERT INTO links_link (id, company_id, mode, slug, key, is_alias, url, expires_at, host_id, utm,
                          expired_url, batch_id, reuse_key)
  SELECT n.id, %(company_id)s, %(mode)s::text, n.slug, n.key, false, n.url,
    now() + make_interval(secs => n.lifetime), n.host_id, n.utm, n.expired_url,
    %(batch_id)s::uuid, n.reuse_key
  FROM unnest(%(link_id)s::uuid[], %(slug)s::text[], %(slug_key)s::text[], %(url)s::text[],
              %(link_lifetime)s::float[], %(host_id)s::bigint[], %(utm)s::text[],
              %(expired_url)s::text[], %(reuse_key)s::uuid[])
    AS n(id, slug, key, url, lifetime, host_id, utm, expired_url, reuse_key),
    (SELECT count(*) FROM dead) AS first  -- read, so that it happens before
  WHERE NOT EXISTS (SELECT FROM found WHERE found.reuse_key = n.reuse_key)
  ORDER BY n.reuse_key
  ON CONFLICT (company_id, mode, reuse_key) WHERE reuse_key IS NOT NULL
    DO UPDATE SET reuse_key = EXCLUDED.reuse_key
  RETURNING reuse_key, id, slug, key, expires_at)
SELECT * FROM found UNION ALL SELECT * FROM made
"""  # noqa: S608

_COLUMNS = (
    "link_id",
    "slug",
    "slug_key",
    "url",
    "link_lifetime",
    "host_id",
    "utm",
    "expired_url",
    "reuse_key",
)
_RETURNED = ("link_id", "slug", "slug_key", "expires_at")


def find_or_create(
    *, owner: Owner, wanted: Sequence[NewLink], batch_id: UUID | None = None
) -> list[Link]:
    """Links in the order of `wanted`; equal items share one link."""
    own: dict[str, Any] = {"company_id": owner.company_id, "mode": owner.mode, "batch_id": batch_id}
    keys = [one.reuse_key() for one in wanted]
    distinct = dict(zip(keys, wanted, strict=True))
    first = {key: n for n, key in reversed(list(enumerate(keys)))}
    for left in reversed(range(MAX_TRIES)):
        asked = {key: one.params() | own | {"reuse_key": key} for key, one in distinct.items()}
        try:
            with transaction.atomic():
                rows = _execute(own, list(asked.values()))
        except IntegrityError as error:  # a generated slug is taken
            if acceptance.violated_constraint(error) != "link_key_once" or not left:
                raise
        else:
            return [
                _link(asked[key], rows[key], is_first=first[key] == n) for n, key in enumerate(keys)
            ]
    raise AssertionError("the last try returns or raises")


def _execute(own: dict[str, Any], asked: Sequence[Mapping[str, Any]]) -> dict[UUID, dict[str, Any]]:
    columns = {name: [one[name] for one in asked] for name in _COLUMNS}
    with connection.cursor() as cursor:
        cursor.execute(_FIND_OR_CREATE, own | columns)
        return {key: dict(zip(_RETURNED, rest, strict=True)) for key, *rest in cursor}


def _link(asked: Mapping[str, Any], row: Mapping[str, Any], *, is_first: bool) -> Link:
    link = link_from_params({**asked, **row}, row["expires_at"])
    link.was_there = row["link_id"] != asked["link_id"] or not is_first
    return link
