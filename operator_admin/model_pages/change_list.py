"""The admin's lists: keyset pagination, no COUNT over a table, and JSON shown as lines."""

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList as DjangoChangeList
from django.core.exceptions import ValidationError
from django.db.models import BooleanField, Model, Q, QuerySet
from django.db.models.expressions import RawSQL
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from api import pagination
from catalogue.ids import first_id_at
from catalogue.texts import StrOrPromise
from parsing.characters import is_line
from parsing.integers import parse_page

AFTER = "after"  # the query parameter: the key of the last row seen
URGENT = "urgent-"  # prefix of the key of a row that waits

EMPTY = "—"


class UncountedChangeList(DjangoChangeList):
    """The base of all lists, which does not count rows."""

    older: str | None = None  # the cursor of the next page; None on the last page

    def __init__(self, request: HttpRequest, model: type[Model], *args: Any, **kwargs: Any) -> None:
        self.after = request.GET.get(AFTER, "")
        try:
            super().__init__(request, model, *args, **kwargs)
        except (ValueError, OverflowError) as wrong:  # an impossible year or IP address
            if request.GET:
                raise IncorrectLookupParameters from wrong
            raise
        self.title = str(capfirst(self.opts.verbose_name_plural))
        self.date_hierarchy = None  # it would read the whole table to offer its first year

    def get_filters_params(self, params: dict[str, Any] | None = None) -> dict[str, Any]:
        lookups: dict[str, Any] = super().get_filters_params(params)
        lookups.pop(AFTER, None)
        if not all(is_line(text) for several in lookups.values() for text in several):
            raise IncorrectLookupParameters
        return lookups

    def older_url(self) -> str:
        return str(self.get_query_string({AFTER: self.older}))

    def newest_url(self) -> str:
        return str(self.get_query_string(remove=[AFTER]))

    def _show(self, request: HttpRequest, rows: Any, older: str | None) -> None:
        self.result_list = rows
        self.older = older
        self.result_count = self.full_result_count = len(rows)
        self.show_full_result_count = False
        self.show_admin_actions = True
        self.can_show_all = False
        self.multi_page = False
        self.paginator = self.model_admin.get_paginator(request, self.queryset, 1)


class KeysetChangeList(UncountedChangeList):
    """A list with the newest first, by the admin's ordering field and the key.

    Columns are not sortable. The filters have no index, so each page scans a bounded part of the
    table. A page may have fewer rows than fit, or none, although older ones follow.
    """

    rows_scanned = 0  # 0 if they filled the page

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        ordering = [str(name) for name in self.model_admin.get_ordering(request)]
        self.field = ordering[0].lstrip("-") if ordering else "pk"
        return self._newest_first()

    def get_results(self, request: HttpRequest) -> None:
        rows, end = self._read(self.queryset, self.after, self.list_per_page + 1)
        page = rows[: self.list_per_page]
        older = page[-1].pk if len(rows) > len(page) else end
        self._show(request, page, None if older is None else str(older))

    def _read(self, rows: QuerySet[Any], after: str, count: int) -> tuple[list[Any], Any]:
        """The next rows, and the key of the last row scanned if more may follow."""
        last = self._last_seen(after)
        older = self._older_than(rows, last)
        if not self._is_scan():
            return list(older[:count]), None
        history = self._older_than(self.root_queryset, last).order_by(*self._newest_first())
        places = history.values_list("pk", self.field)
        for length in pagination.SCANS:
            end = places[length - 1 : length].first()
            page = list((older if end is None else self._down_to(older, *end))[:count])
            if end is None or len(page) == count:
                return page, None
        self.rows_scanned = length
        return page, end and end[0]

    def _last_seen(self, key: str) -> Model | None:
        try:
            row: Model | None = self.root_queryset.filter(pk=key).first() if key else None
        except (ValidationError, ValueError):
            return None
        return row

    def _is_scan(self) -> bool:
        admin: Any = self.model_admin
        is_filtered = bool(self.query or self.filter_params)
        return is_filtered and not (self.query and admin.is_found_by_index(self.query))

    def _newest_first(self) -> list[str]:
        return list(dict.fromkeys((f"-{self.field}", "-pk")))

    # The first condition of `_older_than` and `_down_to` is redundant, but the index needs it.
    def _older_than(self, rows: QuerySet[Any], last: Model | None) -> QuerySet[Any]:
        if last is None:
            return rows
        name = self.field
        value = getattr(last, self.field)
        if name in {"pk", "id"}:
            return rows.filter(pk__lt=last.pk)
        return rows.filter(**{f"{name}__lte": value}).filter(
            Q(**{f"{name}__lt": value}) | Q(pk__lt=last.pk)
        )

    def _down_to(self, rows: QuerySet[Any], pk: Any, value: Any) -> QuerySet[Any]:
        name = self.field
        if name in {"pk", "id"}:
            return rows.filter(pk__gte=pk)
        return rows.filter(**{f"{name}__gte": value}).filter(
            Q(**{f"{name}__gt": value}) | Q(pk__gte=pk)
        )


class UrgentFirstChangeList(KeysetChangeList):
    """A list with the rows that wait for an operator before the others, both newest first.

    The admin's `urgent` is the condition of a partial index, as SQL without parameters, which
    PostgreSQL could not match with the index.
    """

    def get_results(self, request: HttpRequest) -> None:
        after = self.after.removeprefix(URGENT)
        size = self.list_per_page
        is_urgent = self._urgent()
        rows: list[tuple[str, Any]] = []
        if not self.after or self.after.startswith(URGENT):
            waiting = self._older_than(self.queryset.filter(is_urgent), self._last_seen(after))
            rows = [(URGENT, row) for row in waiting[: size + 1]]
            after = ""
        end = None
        if len(rows) <= size:
            others, end = self._read(self.queryset.exclude(is_urgent), after, size + 1 - len(rows))
            rows += [("", row) for row in others]
        page = [row for _phase, row in rows[:size]]
        older = f"{rows[size - 1][0]}{page[-1].pk}" if len(rows) > size else end
        self._show(request, page, None if older is None else str(older))

    def _urgent(self) -> RawSQL:
        admin: Any = self.model_admin
        return RawSQL(admin.urgent, (), output_field=BooleanField())  # noqa: S611 - a constant


class NumberedChangeList(UncountedChangeList):
    """A list in a custom order, with OFFSET pagination: only for small tables."""

    def get_results(self, request: HttpRequest) -> None:
        number = parse_page(self.after)
        start, end = number * self.list_per_page, (number + 1) * self.list_per_page
        has_more = bool(self.queryset[end : end + 1])
        self._show(request, self.queryset[start:end], str(number + 1) if has_more else None)


PERIODS: dict[str, tuple[Promise, timedelta]] = {
    "hour": (_("last hour"), timedelta(hours=1)),
    "day": (_("last 24 hours"), timedelta(days=1)),
    "week": (_("last 7 days"), timedelta(days=7)),
    "month": (_("last 30 days"), timedelta(days=30)),
}


Narrow = Callable[[QuerySet[Any]], QuerySet[Any]]


class ChoiceFilter(admin.SimpleListFilter):
    options: Mapping[str, tuple[StrOrPromise, Narrow]]

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(name, title) for name, (title, _narrow) in self.options.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        option = self.options.get(self.value() or "")
        return option[1](queryset) if option else queryset


def choice_filter(
    title: StrOrPromise, parameter: str, options: Mapping[str, tuple[StrOrPromise, Narrow]]
) -> type[ChoiceFilter]:
    """A filter with choices: `options` has the title of each and the function that narrows rows."""
    members = {"title": title, "parameter_name": parameter, "options": options}
    return type("Choice", (ChoiceFilter,), members)


def field_filter(
    title: StrOrPromise, field: str, titles: Mapping[str, StrOrPromise], parameter: str = ""
) -> type[ChoiceFilter]:
    """A filter by all possible values; Django would query the table for existing ones."""

    def having(value: str) -> Narrow:
        return lambda rows: rows.filter(**{field: value})

    options = {value: (text, having(value)) for value, text in titles.items()}
    return choice_filter(title, parameter or field, options)


def since_filter(field: str = "pk") -> type[ChoiceFilter]:
    """A filter by the time in the UUIDv7 key, or by a date field."""

    def since(span: timedelta) -> Narrow:
        def narrow(rows: QuerySet[Any]) -> QuerySet[Any]:
            start = timezone.now() - span
            return rows.filter(**{f"{field}__gte": first_id_at(start) if field == "pk" else start})

        return narrow

    options = {name: (title, since(span)) for name, (title, span) in PERIODS.items()}
    return choice_filter(_("when"), "since", options)


def needs_review(rows: Any) -> Any:
    return rows.needs_review()


NEEDS_ATTENTION = choice_filter(
    _("needs attention"), "attention", {"yes": (_("Yes"), needs_review)}
)


def in_lines(value: Any) -> SafeString | str:
    """A JSON value with a line for each leaf, `buyer · inn: 7800000002`, without empty ones."""
    rows = [(" · ".join(path), text) for path, text in _leaves(value, ())]
    return format_html_join("", "<div>{}: {}</div>", rows) or EMPTY


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(inner, (*path, str(name)))
    elif isinstance(value, list):
        for number, inner in enumerate(value, start=1):
            yield from _leaves(inner, (*path, str(number)))
    elif value not in (None, ""):
        yield path, str(value)
