"""Saves, applies and deletes named filters of a list."""

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from accounts.models import Company, SavedFilter, User

# What of a filter is kept. A phone or an id names a person: such searches are not saved.
KEPT = {
    SavedFilter.Page.MESSAGES: (
        *("mode", "channel", "state", "kind", "api_key", "country", "purpose"),
        *("period", "date_from", "date_to"),
    ),
    SavedFilter.Page.REQUESTS: ("mode", "outcome", "code", "api_key", "day"),
}


class Chip(NamedTuple):
    """A saved filter as the list shows it."""

    row: SavedFilter
    is_active: bool


def of_user(user: User, company: Company, page: str) -> QuerySet[SavedFilter]:
    return SavedFilter.objects.filter(user=user, company=company, page=page)


def query_of(page: str, given: Mapping[str, str]) -> str:
    """In one spelling, so that equal filters have equal queries."""
    kept = KEPT[SavedFilter.Page(page)]
    return urlencode([(name, given[name]) for name in kept if given.get(name)])


def chips(user: User, company: Company, page: str, given: Mapping[str, str]) -> list[Chip]:
    shown = query_of(page, given)
    return [Chip(row, row.query == shown) for row in of_user(user, company, page)]


def default_query(user: User, company: Company, page: str) -> str | None:
    """Of the filter that the list opens with, when it is opened without one."""
    rows = of_user(user, company, page).filter(is_default=True)
    return rows.values_list("query", flat=True).first()


@transaction.atomic
def save(
    *,
    user: User,
    company: Company,
    page: str,
    name: str,
    given: Mapping[str, str],
    is_default: bool,
) -> SavedFilter:
    """A filter of this name is replaced; raises ValidationError for one too many."""
    User.objects.select_for_update(no_key=True).get(pk=user.pk)  # parallel saves wait here
    rows = of_user(user, company, page)
    if is_default:
        rows.update(is_default=False)
    values: dict[str, Any] = {"query": query_of(page, given), "is_default": is_default}
    if known := rows.filter(name__iexact=name).first():
        known.query, known.is_default = values["query"], is_default
        known.save(update_fields=["query", "is_default"])
        return known
    if rows.count() >= SavedFilter.MOST:
        raise ValidationError(
            _("You have %(most)d saved filters here. Delete one first."),
            params={"most": SavedFilter.MOST},
        )
    return SavedFilter.objects.create(user=user, company=company, page=page, name=name, **values)
