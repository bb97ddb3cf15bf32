"""Codes of the last minutes with their outcomes, as the guard finds them."""

from datetime import datetime, timedelta
from itertools import count
from unittest.mock import patch
from uuid import UUID

from django.utils import timezone

from accounts.models import Company
from catalogue.ids import first_id_at, uuid7
from channels.models import Message
from otp.protection import guard_evidence
from tests.factories import MessageFactory, VerificationFactory

_numbers = count()


def count_at(moment: datetime) -> None:
    """Counts as at a later time."""
    with patch.object(guard_evidence, "database_now", lambda: moment):
        guard_evidence.count()


def id_at(at: datetime) -> UUID:
    """The id of a row made at this time."""
    return UUID(int=first_id_at(at).int | (uuid7().int & (1 << 62) - 1))


def sent(
    company: Company,
    *,
    ago: float,
    phone: str = "",
    delivered_after: float | None = 4.0,
    entered_after: float | None = None,
    price: int = 16,
    sender: dict[str, str] | None = None,
    mode: str = "live",
) -> Message:
    """A code accepted `ago` seconds ago."""
    at = timezone.now() - timedelta(seconds=ago)
    entered_at = None if entered_after is None else at + timedelta(seconds=entered_after)
    phone = phone or f"+25261{next(_numbers):07}"
    verification = VerificationFactory.create(
        id=id_at(at),
        company=company,
        mode=mode,
        phone=phone,
        verified_at=entered_at,
        judged_at=entered_at,
        superseded_at=at,
        created_at=at,
    )
    message: Message = MessageFactory.create(
        id=id_at(at),
        company=company,
        mode=mode,
        kind="code",
        phone=phone,
        channel="sms",
        price=price,
        subject_id=verification.pk,
        state="sent" if delivered_after is None else "delivered",
        params={"sender": sender} if sender else {},
        delivered_at=None if delivered_after is None else at + timedelta(seconds=delivered_after),
        created_at=at,
    )
    return message
