"""The beginning of the histories after older months were archived."""

from datetime import UTC, date, datetime, time
from typing import NamedTuple
from uuid import UUID

from billing.models import ArchivedMonth
from catalogue.ids import first_id_at
from storage.months.calendar import next_month
from storage.statements import sql_files
from storage.statements.queries import select_one

_CHANGE = """CASE WHEN kind IN ('top_up', 'grant') THEN {0}
  WHEN kind IN ('withdraw', 'capture') THEN -{0} ELSE 0 END"""
_OPENING = sql_files.fill(
    sql_files.read("billing/wallet/opening.sql"),
    amount=_CHANGE.format("amount"),
    tokens=_CHANGE.format("tokens"),
)


class Opening(NamedTuple):
    """The balance at a time, after which the company's statement begins."""

    at: datetime
    balance: int


def opening(company_id: int) -> Opening | None:
    """The opening balance; None if nothing of the company is archived."""
    return select_one(Opening, _OPENING, {"company": company_id})


def first_kept_day() -> date | None:
    """The first day whose messages are in the database, or None if no month was archived."""
    months = ArchivedMonth.objects.order_by("-month").values_list("month", flat=True)
    newest = months.first()
    return next_month(newest) if newest else None


def first_kept_day_after(message_id: UUID) -> date | None:
    """The first stored day, if a message with this id, real or not, would be older."""
    since = first_kept_day()
    if since is None or message_id >= first_id_at(datetime.combine(since, time.min, UTC)):
        return None
    return since
