"""Makes one short link."""

from contextlib import nullcontext
from datetime import datetime
from functools import partial
from typing import NamedTuple

from django.db import IntegrityError, connection, transaction

from accounts.models import Mode
from api import rate_limit
from catalogue.errors import DomainError, Error
from channels.accept import acceptance
from links import sql
from links.follow import resolution
from links.make.new_link import MAX_TRIES, NewLink, Owner
from links.make.retired_aliases import retire_aliases
from links.make.reuse import find_or_create
from links.models import Link
from storage.statements.single_statement import fetch_rows


def shorten(*, owner: Owner, link: NewLink) -> Link:
    """Makes a short link, or reuses an equal one if allowed; raises `alias_taken`."""
    if owner.mode == Mode.TEST:
        rate_limit.consume_test_quota(owner.company_id, "links")
    if link.is_reused:
        (reused,) = find_or_create(owner=owner, new_links=[link])
        return reused
    for tries_left in reversed(range(MAX_TRIES)):
        try:
            created = _insert(owner, link)
        except IntegrityError as error:
            if acceptance.violated_constraint(error) != "link_key_once" or not tries_left:
                raise
            if link.alias:
                raise DomainError(Error.ALIAS_TAKEN) from None
        else:
            if link.alias:  # the alias may have been requested before, with a 404
                transaction.on_commit(partial(resolution.cache_new, created))
            return created
    raise AssertionError("the last try returns or raises")


def _insert(owner: Owner, new_link: NewLink) -> Link:
    row = new_link.row(owner)
    # A savepoint, so that a taken slug does not break an open transaction.
    needs_block = row["is_alias"] or connection.in_atomic_block
    with transaction.atomic() if needs_block else nullcontext():
        if row["is_alias"] and retire_aliases(owner, [row]):
            raise DomainError(Error.ALIAS_TAKEN)
        (inserted,) = fetch_rows(sql.SHORTEN, sql.params(row, new_link.lifetime), _NewRow)
    return Link(**row, expires_at=inserted.expires_at)


class _NewRow(NamedTuple):
    expires_at: datetime | None
