"""Reads a company's messages for people: filtered, newest first, each with what it cost."""

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import timezone

from accounts.models import Company, Mode
from billing.models import Transfer
from channels.models import Message

EXACT = ("channel", "state", "kind")
FULL_PHONE = 11  # digits; a shorter one is a beginning


def matching(company: Company, chosen: Mapping[str, Any]) -> QuerySet[Message]:
    """The messages of one mode, since only so the index gives them in order."""
    rows = Message.objects.of(company).filter(mode=chosen.get("mode", Mode.LIVE))
    rows = rows.filter(**{name: chosen[name] for name in EXACT if name in chosen})
    if phone := chosen.get("phone"):
        rows = rows.filter(**_by_phone(phone))
    if first := chosen.get("date_from"):
        rows = rows.filter(created_at__gte=_start_of(first))
    if last := chosen.get("date_to"):
        rows = rows.filter(created_at__lt=_start_of(last + timedelta(days=1)))
    return with_charges(rows)


def recent(company: Company, count: int) -> list[Message]:
    """The last messages of both modes, by one short walk of the index for each."""
    rows = with_charges(Message.objects.of(company)).order_by("-created_at", "-id")
    found = [row for mode in Mode for row in rows.filter(mode=mode)[:count]]
    return sorted(found, key=lambda row: (row.created_at, row.id), reverse=True)[:count]


def with_charges(rows: QuerySet[Message]) -> QuerySet[Message]:
    """Adds `charged`: the tokens taken for the delivery, or None."""
    captures = Transfer.objects.filter(message_id=OuterRef("pk"), kind=Transfer.Kind.CAPTURE)
    return rows.annotate(charged=Subquery(captures.values("amount")[:1]))


def _by_phone(text: str) -> dict[str, str]:
    digits = "".join(one for one in text if one in "0123456789")
    if len(digits) == FULL_PHONE and digits.startswith("8") and "+" not in text:
        digits = "7" + digits[1:]  # as people in Russia and Kazakhstan type it
    return {"phone" if len(digits) >= FULL_PHONE else "phone__startswith": f"+{digits}"}


def _start_of(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))
