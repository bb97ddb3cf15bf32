"""Deletes companies whose deletion is due.

One commit stops everything that works; many small ones then erase the company's data about
recipients. Every commit locks the company's row. Of two workers the second leaves the company to
the first; if a worker dies, the next run continues with the rows that are still there. The ledger,
invoices, closing documents, keys without their secrets and the audit log stay with the company's
row; docs/operations/leaving-companies.md says for how long.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import connection, transaction
from django.db.models import Model, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.audit import record
from accounts.jobs import Job, delete_with_parts
from accounts.keys.api_keys import evict_keys
from accounts.masked_phones import digit_groups_in
from accounts.models import Company, CsvExport, Invitation, Mode, SavedFilter
from accounts.people import planned_deletion
from accounts.security.notifications import post_to_owners
from api.models import ApiRequest, IdempotentRequest
from billing.orders import auto_top_up
from channels.models import Message, RouteDay
from identity_hooks.models import Hook
from links.clicks import clickhouse_sink as clicks_in_clickhouse
from links.follow import resolution
from links.manage import stopping
from links.models import Link, LinkImport
from otp.models import Autofill, CodeText, GuardEvidence, GuardReplay, GuardReport, GuardRestriction
from persons import sql
from persons.erasure import NotFinishedError, erase_with_company
from persons.models import CompanyExport
from persons.person import BLANK, Person, lift_timeout
from webhooks.models import Endpoint, Event

log = structlog.get_logger(__name__)
DELETIONS = Job("company_deletions", _("deletions of companies"))
ERASURES = Job("company_erasures", _("erasures of deleted companies"))

# Requests, imports and deliveries that began before the deletion have ended by then.
SETTLED_AFTER = timedelta(minutes=10)
RUN = 40.0  # seconds of one run, shared by the companies; the next one continues
BATCH_SIZE = 500  # rows
LINKS = 50  # per commit; each may have many clicks
DELETED: tuple[type[Model], ...] = (
    LinkImport,  # first: it creates links
    IdempotentRequest,
    ApiRequest,
    Event,
    CsvExport,
    CompanyExport,
    SavedFilter,
    Invitation,
    Hook,  # with its secrets
    CodeText,
    Autofill,
    GuardEvidence,
    GuardRestriction,
    GuardReplay,
    GuardReport,
    RouteDay,
)


class _ElsewhereError(Exception):
    """Another worker is erasing the company, or has finished."""


class _OutOfTimeError(Exception):
    pass


def run() -> None:
    planned_deletion.warn()
    now = timezone.now()
    DELETIONS.each(Company.objects.closing().filter(closes_at__lte=now), delete)
    due = list(Company.objects.to_erase().filter(deleted_at__lte=now - SETTLED_AFTER))
    share = RUN / max(len(due), 1)  # a company with millions of recipients takes hours
    ERASURES.each(due, lambda company: _erase_if_free(company, time.monotonic() + share))


def _erase_if_free(company: Company, ends_at: float) -> None:
    with suppress(_ElsewhereError, _OutOfTimeError):
        erase(company, ends_at)


@transaction.atomic
def delete(company: Company) -> bool:
    """Stops everything at once; False if the company was kept or deleted in the meantime."""
    stored = Company.objects.select_for_update(no_key=True).get(pk=company.pk)
    now = timezone.now()
    if not stored.is_closing or stored.closes_at is None or stored.closes_at > now:
        return False
    stored.deleted_at = now
    stored.save(update_fields=["deleted_at"])
    evict_keys(stored)
    stored.api_keys.filter(revoked_at=None).update(revoked_at=now)
    Endpoint.objects.filter(company=stored, deleted_at=None).update(deleted_at=now)
    Hook.objects.active().filter(company=stored).update(revoked_at=now)
    stopping.stop(company=stored, by_operator=True)  # only the operator could release them
    auto_top_up.turn_off(company=stored, user=None)
    auto_top_up.remove_method(company=stored, user=None)
    stored.invitations.open().update(revoked_at=now)
    record("company.deleted", stored, company=stored, user=None)
    post_to_owners("company.deleted", company=stored)  # while there are owners
    stored.members.all().delete()
    log.info("company_deleted", company=stored.pk)
    return True


def erase(company: Company, ends_at: float) -> bool:
    """Erases the company's data; whether all is erased: open messages are left to a later run."""
    for model in DELETED:
        _delete_rows(company, model, ends_at)
    remaining = _erase_recipients(company, ends_at)
    _erase_links(company, ends_at)
    if remaining:
        return False
    with _lock(company) as stored:
        stored.erased_at = timezone.now()
        stored.save(update_fields=["erased_at"])
        record("company.erased", stored, company=stored, user=None)
    log.info("company_erased", company=company.pk)
    return True


@contextmanager
def _lock(company: Company) -> Iterator[Company]:
    with transaction.atomic():
        rows = Company.objects.to_erase().filter(pk=company.pk)
        stored = rows.select_for_update(no_key=True, skip_locked=True).first()
        if stored is None:
            raise _ElsewhereError
        yield stored


def _check_time(ends_at: float) -> None:
    if time.monotonic() >= ends_at:
        raise _OutOfTimeError


def _delete_rows(company: Company, model: type[Model], ends_at: float) -> None:
    rows: QuerySet[Any] = model._default_manager.filter(company=company)  # noqa: SLF001 - public in Django
    count = BATCH_SIZE
    while count == BATCH_SIZE:
        _check_time(ends_at)
        with _lock(company):
            count = delete_with_parts(rows, BATCH_SIZE)


def _erase_recipients(company: Company, ends_at: float) -> int:
    """Erases the company's recipients; returns the number of phones that cannot be erased yet."""
    busy: set[str] = set()
    erased: set[str] = set()
    for mode in Mode.values:
        rows = Message.objects.filter(company=company, mode=mode).exclude(phone__endswith="*")
        for page in _pages(rows, "phone", BATCH_SIZE):
            for phone in dict.fromkeys(row["phone"] for row in page):
                if phone in busy or phone in erased:
                    continue
                _check_time(ends_at)
                (erased if _erase_person(company, phone) else busy).add(phone)
    return len(busy)


def _erase_person(company: Company, phone: str) -> bool:
    with _lock(company):
        try:
            erase_with_company(Person(phone, company.pk))
        except NotFinishedError:
            return False
    return True


def _erase_links(company: Company, ends_at: float) -> None:
    for mode in Mode.values:
        rows = Link.objects.filter(company=company, mode=mode).exclude(url=BLANK)
        for page in _pages(rows, "id", LINKS):
            _check_time(ends_at)
            _erase_some_links(company, [row["id"] for row in page])


def _erase_some_links(company: Company, ids: list[Any]) -> None:
    with _lock(company), connection.cursor() as cursor:
        lift_timeout(cursor)
        links = list(Link.objects.filter(pk__in=ids).order_by("pk").select_for_update(no_key=True))
        resolution.invalidate_before_commit(*links)
        aliases = [link.pk for link in links if link.is_alias and any(digit_groups_in(link.slug))]
        for statement in (sql.ERASE[name] for name in ("links", "clicks", "link_reports")):
            cursor.execute(statement, {"links": ids, "aliases": aliases})
        clicks_in_clickhouse.note_erasure(cursor, ids)
        transaction.on_commit(lambda: resolution.invalidate_after_commit(*links))


def _pages(rows: QuerySet[Any], name: str, size: int) -> Iterator[list[dict[str, Any]]]:
    """Yields pages in the order of the index of a company's history; erased rows drop out."""
    ordered = rows.order_by("created_at", "id").values("created_at", "id", name)
    after: Q = Q()
    while page := list(ordered.filter(after)[:size]):
        yield page
        after = _after_row(page[-1]["created_at"], page[-1]["id"])


def _after_row(at: datetime, row_id: Any) -> Q:
    # The first bound is redundant, but the index can start at it.
    return Q(created_at__gte=at) & (Q(created_at__gt=at) | Q(id__gt=row_id))
