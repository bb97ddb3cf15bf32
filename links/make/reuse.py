"""Finds a live link equal to the requested one, or makes it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import IntegrityError, transaction

from channels.accept import acceptance
from links import sql
from links.make.new_link import MAX_TRIES, NewLink, Owner
from links.models import Link
from storage.statements.queries import select

_IS_LIVE = """
(l.disabled_at IS NULL AND (l.expires_at IS NULL OR l.expires_at > now())
 AND NOT EXISTS (SELECT FROM links_stop s
                 WHERE s.company_id = l.company_id AND s.batch_id = l.batch_id))"""
# IS NOT NULL is redundant, but the planner needs it to use the partial index.
_EQUAL = """
l.company_id = %(company_id)s AND l.mode = %(mode)s::text
AND l.reuse_key = ANY(%(link_reuse_key)s::uuid[]) AND l.reuse_key IS NOT NULL"""

# Finds live links, clears the keys of dead ones, locked in one order, and makes new links for the
# remaining requests. The unique index decides between concurrent requests; ON CONFLICT returns the
# earlier row to the later request, whose snapshot does not show it.
_FIND_OR_CREATE = f"""
WITH existing AS (
  SELECT l.reuse_key, l.id, l.slug, l.key, l.expires_at
  FROM links_link l WHERE {_EQUAL} AND {_IS_LIVE}),
dead AS (
  UPDATE links_link SET reuse_key = NULL WHERE id IN (
    SELECT l.id FROM links_link l WHERE {_EQUAL} AND NOT {_IS_LIVE} ORDER BY l.id FOR UPDATE)
  RETURNING id),
new_link AS ({sql.INSERT_FROM_ARRAYS},
    (SELECT count(*) FROM dead) AS first_step  -- read, so that it runs first
  WHERE NOT EXISTS (SELECT FROM existing WHERE existing.reuse_key = n.reuse_key)
  ORDER BY n.reuse_key
  ON CONFLICT (company_id, mode, reuse_key) WHERE reuse_key IS NOT NULL
    DO UPDATE SET reuse_key = EXCLUDED.reuse_key
  RETURNING reuse_key, id, slug, key, expires_at)
SELECT * FROM existing UNION ALL SELECT * FROM new_link
"""  # noqa: S608


class _ExistingLink(NamedTuple):
    reuse_key: UUID
    id: UUID
    slug: str
    key: str
    expires_at: datetime | None


def find_or_create(
    *, owner: Owner, new_links: Sequence[NewLink], batch_id: UUID | None = None
) -> list[Link]:
    """Links in the order of `new_links`, all with `is_reused`; equal items share one link."""
    for tries_left in reversed(range(MAX_TRIES)):
        rows = [link.row(owner, batch_id=batch_id) for link in new_links]
        first = {row["reuse_key"]: n for n, row in reversed(list(enumerate(rows)))}.values()
        params = sql.params_of_many(
            [rows[n] for n in first], [new_links[n].lifetime for n in first]
        )
        try:
            with transaction.atomic():
                links = _execute(params)
        except IntegrityError as error:  # a generated slug is taken
            if acceptance.violated_constraint(error) != "link_key_once" or not tries_left:
                raise
        else:
            return [_link(row, links[row["reuse_key"]]) for row in rows]
    raise AssertionError("the last try returns or raises")


def _execute(params: Mapping[str, Any]) -> dict[UUID, _ExistingLink]:
    return {row.reuse_key: row for row in select(_ExistingLink, _FIND_OR_CREATE, params)}


def _link(row: Mapping[str, Any], existing: _ExistingLink) -> Link:
    link = Link(**{**row, **existing._asdict()})
    link.is_existing = existing.id != row["id"]
    return link
