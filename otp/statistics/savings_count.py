"""Counts the codes of companies with smart routing by hold-out arm, once all is charged.

Eleven minutes after a send its holds are charged or released, so the cost of each code is known.
The messages of a resent code count together, in the arm of the first message.
"""

from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.jobs import Job
from accounts.purges import delete_rows
from catalogue.ids import first_id_at
from channels.history.day_counts import country_of_any
from channels.models import Message, RouteDay, RouterState
from channels.routing.learned import phone_memories
from storage.sessions import database_now
from storage.statements import sql_files
from storage.statements.queries import select

# After this time the last hold of a code is released, and swept soon after.
_LONGEST_HOLD = max(settings.HOLD_DEADLINE[Message.Kind.CODE.value], settings.LONGEST_CODE_LIFETIME)
SETTLED_AFTER = timedelta(seconds=_LONGEST_HOLD + 60)
JOB = Job("savings", _("savings by routing"), is_stream=True)
MAX_STEP = timedelta(minutes=10)
MAX_ABSENCE = timedelta(days=2)
RETENTION = timedelta(days=400)

_CODES = sql_files.read("otp/statistics/savings_count.sql")


class _Code(NamedTuple):
    """A row of `_CODES`."""

    company_id: int
    phone: str
    arm: str
    created: float
    verified: float | None
    tokens: int


def count() -> None:
    """Counts the codes settled until now. Returns at once while another worker counts or learns."""
    until = database_now() - SETTLED_AFTER
    while _count_step(until):
        pass


def _count_step(until: datetime) -> bool:
    with transaction.atomic():
        state = RouterState.objects.select_for_update(skip_locked=True).defer("state").first()
        if state is None:
            return False
        since = state.counted_until
        if since is None or since < until - MAX_ABSENCE:
            since = until - MAX_ABSENCE if since else until
        if since > until:
            return False
        end = min(until, since + MAX_STEP)
        _add(_codes(since, end))
        RouterState.objects.filter(pk=RouterState.ONLY).update(counted_until=end)
    return end < until


def _codes(since: datetime, until: datetime) -> list[_Code]:
    params: dict[str, Any] = {
        "first": first_id_at(since),
        "last": first_id_at(until),
        "first_code": first_id_at(since - timedelta(seconds=settings.LONGEST_CODE_LIFETIME)),
        "arms": RouteDay.Arm.values,
    }
    return select(_Code, _CODES, params)


def _add(codes: list[_Code]) -> None:
    """Adds the counts. `RouterState` is locked, so no other worker writes them."""
    days: dict[tuple[int, date, str, str], RouteDay] = {}
    for code in codes:
        day = timezone.localdate(datetime.fromtimestamp(code.created, UTC))
        key = code.company_id, day, country_of_any(code.phone), code.arm
        row = days.setdefault(key, _empty_day(*key))
        row.codes += 1
        row.tokens += code.tokens
        row.tokens_squared += code.tokens**2
        if code.verified is not None:
            row.entered += 1
            row.seconds += code.verified - code.created
    JOB.each(days.values(), _add_day, key=lambda row: row.company_id)


def _empty_day(company_id: int, day: date, country: str, arm: str) -> RouteDay:
    return RouteDay(company_id=company_id, day=day, country=country, arm=arm)


def _add_day(row: RouteDay) -> None:
    key = {"company_id": row.company_id, "day": row.day, "country": row.country, "arm": row.arm}
    added = {
        name: F(name) + getattr(row, name)
        for name in ("codes", "entered", "tokens", "tokens_squared", "seconds")
    }
    if not RouteDay.objects.filter(**key).update(**added):
        row.save()


def purge(limit: int) -> int:
    """Deletes old days, and memories of phones that received no code for long."""
    old = RouteDay.objects.filter(day__lt=timezone.localdate() - RETENTION)
    return delete_rows(old, limit) + phone_memories.purge(limit)
