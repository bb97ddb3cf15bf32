"""Makes many links in one request: a result for each, without a query for each."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction

from accounts.api import rate_limit
from accounts.models import Mode
from config.errors import DomainError, Error
from links import sql
from links.follow import resolution
from links.make import reuse
from links.make.new_link import MAX_TRIES, NewLink, Owner
from links.make.reuse import retire_aliases
from links.models import Link

MAX_LINKS = 1000


Result = Link | DomainError


def shorten_many(*, owner: Owner, wanted: Sequence[NewLink], batch_id: UUID) -> list[Result]:
    """Results in the order of `wanted`; an alias that is taken fails its own item alone."""
    with transaction.atomic():
        if owner.mode == Mode.TEST:
            rate_limit.consume_test_quota(owner.company_id, "links", len(wanted))
        results = _reuse(owner, wanted, batch_id)
        retire_aliases(owner, [one.row(owner)["key"] for one in wanted if one.alias])
        for left in reversed(range(MAX_TRIES)):
            open_items = [n for n in range(len(wanted)) if n not in results]
            if not open_items:
                break
            results |= _insert(
                owner, {n: wanted[n] for n in open_items}, batch_id, is_last=not left
            )
    aliases = [link for link in results.values() if isinstance(link, Link) and link.is_alias]
    if aliases:
        transaction.on_commit(lambda: resolution.cache_new(*aliases))
    return [results[n] for n in range(len(wanted))]


def _reuse(owner: Owner, wanted: Sequence[NewLink], batch_id: UUID) -> dict[int, Result]:
    asked = {n: one for n, one in enumerate(wanted) if one.is_reused}
    if not asked:
        return {}
    links = reuse.find_or_create(owner=owner, wanted=list(asked.values()), batch_id=batch_id)
    return dict(zip(asked, links, strict=True))


def _insert(
    owner: Owner, wanted: Mapping[int, NewLink], batch_id: UUID, *, is_last: bool
) -> dict[int, Result]:
    """Links made and items refused; a generated slug that is taken is left for the next try."""
    rows = {n: one.row(owner, batch_id=batch_id) for n, one in wanted.items()}
    lifetimes = [one.lifetime for one in wanted.values()]
    with connection.cursor() as cursor:
        cursor.execute(sql.INSERT_MANY, sql.params_of_many(list(rows.values()), lifetimes))
        expiries: dict[UUID, datetime | None] = dict(cursor.fetchall())
    results: dict[int, Result] = {}
    for n, row in rows.items():
        if row["id"] in expiries:
            results[n] = Link(**row, expires_at=expiries[row["id"]])
        elif row["is_alias"]:
            results[n] = DomainError(Error.ALIAS_TAKEN)
        elif is_last:
            raise DomainError(Error.UNAVAILABLE, retry_after=1)
    return results
