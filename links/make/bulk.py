"""Makes many links in one request: each item has its own result."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction

from accounts.models import Mode
from api import rate_limit
from catalogue.errors import DomainError, Error
from links import sql
from links.follow import resolution
from links.make.new_link import MAX_TRIES, NewLink, Owner
from links.make.retired_aliases import retire_aliases
from links.make.reuse import find_or_create
from links.models import Link
from storage.statements.queries import fetch_tuples

MAX_LINKS = 1000


Result = Link | DomainError


def shorten_many(*, owner: Owner, new_links: Sequence[NewLink], batch_id: UUID) -> list[Result]:
    """Results in the order of `new_links`; a taken alias fails only its own item."""
    with transaction.atomic():
        if owner.mode == Mode.TEST:
            rate_limit.consume_test_quota(owner.company_id, "links", len(new_links))
        results = _reuse_some(owner, new_links, batch_id)
        rows = {index: link.row(owner) for index, link in enumerate(new_links) if link.alias}
        taken_aliases = retire_aliases(owner, list(rows.values()))
        results |= {
            index: DomainError(Error.ALIAS_TAKEN)
            for index, row in rows.items()
            if row["key"] in taken_aliases
        }
        for tries_left in reversed(range(MAX_TRIES)):
            open_items = [index for index in range(len(new_links)) if index not in results]
            if not open_items:
                break
            results |= _insert_many(
                owner,
                {index: new_links[index] for index in open_items},
                batch_id,
                is_last=not tries_left,
            )
    aliases = [link for link in results.values() if isinstance(link, Link) and link.is_alias]
    if aliases:
        transaction.on_commit(lambda: resolution.cache_new(*aliases))
    return [results[index] for index in range(len(new_links))]


def _reuse_some(owner: Owner, new_links: Sequence[NewLink], batch_id: UUID) -> dict[int, Result]:
    reusable = {index: link for index, link in enumerate(new_links) if link.is_reused}
    if not reusable:
        return {}
    links = find_or_create(owner=owner, new_links=list(reusable.values()), batch_id=batch_id)
    return dict(zip(reusable, links, strict=True))


def _insert_many(
    owner: Owner, new_links: Mapping[int, NewLink], batch_id: UUID, *, is_last: bool
) -> dict[int, Result]:
    """The results of items: links made, and refusals.

    An item with a taken generated slug is left for the next try.
    """
    rows = {index: link.row(owner, batch_id=batch_id) for index, link in new_links.items()}
    lifetimes = [link.lifetime for link in new_links.values()]
    expiries: dict[UUID, datetime | None] = dict(
        fetch_tuples(sql.INSERT_MANY, sql.params_of_many(list(rows.values()), lifetimes))
    )
    results: dict[int, Result] = {}
    for index, row in rows.items():
        if row["id"] in expiries:
            results[index] = Link(**row, expires_at=expiries[row["id"]])
        elif row["is_alias"]:
            results[index] = DomainError(Error.ALIAS_TAKEN)
        elif is_last:
            raise DomainError(Error.UNAVAILABLE, retry_after=1)
    return results
