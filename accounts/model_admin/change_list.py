"""The admin's lists: keyset pagination, and no COUNT over a table."""

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList as DjangoChangeList
from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from config.ids import first_id_at

AFTER = "after"  # the query parameter: the key of the last row seen


class UncountedChangeList(DjangoChangeList):
    """The base of both lists: it counts nothing."""

    older: str | None = None  # the cursor of the next page; None on the last page

    def __init__(self, request: HttpRequest, model: type[Model], *args: Any, **kwargs: Any) -> None:
        self.after = request.GET.get(AFTER, "")
        super().__init__(request, model, *args, **kwargs)
        self.title = str(capfirst(self.opts.verbose_name_plural))
        self.date_hierarchy = None  # it would read the whole table to offer its first year

    def get_filters_params(self, params: dict[str, Any] | None = None) -> dict[str, Any]:
        found: dict[str, Any] = super().get_filters_params(params)
        found.pop(AFTER, None)
        return found

    def older_url(self) -> str:
        return str(self.get_query_string({AFTER: self.older}))

    def newest_url(self) -> str:
        return str(self.get_query_string(remove=[AFTER]))

    def _show(self, request: HttpRequest, rows: Any, older: str | None) -> None:
        self.result_list, self.older = rows, older
        self.result_count = self.full_result_count = len(rows)
        self.show_full_result_count, self.show_admin_actions = False, True
        self.can_show_all = self.multi_page = False
        self.paginator = self.model_admin.get_paginator(request, self.queryset, 1)


class KeysetChangeList(UncountedChangeList):
    """Newest first by the admin's ordering field and the key; columns are not sortable."""

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        chosen = [str(name) for name in self.model_admin.get_ordering(request)]
        self.field = chosen[0].lstrip("-") if chosen else "pk"
        return list(dict.fromkeys((f"-{self.field}", "-pk")))

    def get_results(self, request: HttpRequest) -> None:
        rows = list(self._after(self.queryset)[: self.list_per_page + 1])
        page = rows[: self.list_per_page]
        self._show(request, page, str(page[-1].pk) if len(rows) > len(page) else None)

    def _after(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        last = _row(self.root_queryset, self.after) if self.after else None
        if last is None:
            return rows
        name, value = self.field, getattr(last, self.field)
        if name in {"pk", "id"}:
            return rows.filter(pk__lt=last.pk)
        # The first condition is redundant, but only it can use the index.
        return rows.filter(**{f"{name}__lte": value}).filter(
            Q(**{f"{name}__lt": value}) | Q(pk__lt=last.pk)
        )


class NumberedChangeList(UncountedChangeList):
    """In a custom order, most urgent first. Pages are numbered (OFFSET), so only for short
    tables.
    """

    def get_results(self, request: HttpRequest) -> None:
        number = int(self.after) if self.after.isdecimal() and len(self.after) < 6 else 0
        start, end = number * self.list_per_page, (number + 1) * self.list_per_page
        has_more = bool(self.queryset[end : end + 1])
        self._show(request, self.queryset[start:end], str(number + 1) if has_more else None)


def _row(rows: QuerySet[Any], key: str) -> Model | None:
    try:
        row: Model | None = rows.filter(pk=key).first()
    except (ValidationError, ValueError):
        return None
    return row


PERIODS: dict[str, tuple[Promise, timedelta]] = {
    "hour": (_("last hour"), timedelta(hours=1)),
    "day": (_("last 24 hours"), timedelta(days=1)),
    "week": (_("last 7 days"), timedelta(days=7)),
    "month": (_("last 30 days"), timedelta(days=30)),
}


class SinceFilter(admin.SimpleListFilter):
    """Filters by creation time, read from the UUIDv7 key."""

    field = "pk"
    title = _("when")
    parameter_name = "since"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(name, words) for name, (words, _span) in PERIODS.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in PERIODS:
            return queryset
        start = timezone.now() - PERIODS[str(self.value())][1]
        if self.field == "pk":
            return queryset.filter(pk__gte=first_id_at(start))
        return queryset.filter(**{f"{self.field}__gte": start})


def since_filter(name: str) -> type[SinceFilter]:
    """The filter for a date field."""
    return type("Since", (SinceFilter,), {"field": name})
