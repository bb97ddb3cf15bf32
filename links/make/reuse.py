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
from storage.statements import sql_files
from storage.statements.queries import select

_SQL = sql_files.read_several("links/make/reuse.sql", insert=sql.INSERT_FROM_ARRAYS)


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
        first = {row["reuse_key"]: index for index, row in reversed(list(enumerate(rows)))}.values()
        params = sql.params_of_many(
            [rows[index] for index in first], [new_links[index].lifetime for index in first]
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
    return {row.reuse_key: row for row in select(_ExistingLink, _SQL["find_or_create"], params)}


def _link(row: Mapping[str, Any], existing: _ExistingLink) -> Link:
    link = Link(**{**row, **existing._asdict()})
    link.is_existing = existing.id != row["id"]
    return link
