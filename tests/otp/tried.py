"""Codes of some minutes ago with their attempts, as learning finds them."""

from datetime import datetime, timedelta
from typing import Any
from unittest.mock import patch

from django.utils import timezone

from accounts.models import Company
from channels.models import Message, RouterState
from otp.statistics import route_learning, savings_count
from tests.factories import AttemptFactory, MessageFactory, VerificationFactory
from tests.otp.protection.sends import id_at

Try = dict[str, Any]  # channel, provider, after (s), delivered, refused, barred, fault


def begin(ago: float = 300.0) -> None:
    """Starts as learned until `ago` seconds back, from codes two minutes older than that."""
    RouterState.objects.all().delete()
    until = timezone.now() - timedelta(seconds=ago)
    RouterState.objects.create(pk=RouterState.ONLY, learned_until=until)


def learn_at(moment: datetime) -> None:
    """Learns as at a later time."""
    with patch.object(route_learning, "database_now", lambda: moment):
        route_learning.learn()


def count_at(moment: datetime) -> None:
    """Counts savings as at a later time."""
    with patch.object(savings_count, "database_now", lambda: moment):
        savings_count.count()


def tried(
    company: Company,
    *tries: Try,
    ago: float = 200.0,
    phone: str = "+79161234567",
    entered_after: float | None = None,
    route: dict[str, Any] | None = None,
    price: int = 1,
) -> Message:
    at = timezone.now() - timedelta(seconds=ago)
    verified = None if entered_after is None else at + timedelta(seconds=entered_after)
    code = VerificationFactory.create(
        id=id_at(at),
        company=company,
        phone=phone,
        verified_at=verified,
        superseded_at=at,
        created_at=at,
    )
    is_delivered = any(attempt.get("delivered") is not None for attempt in tries)
    message: Message = MessageFactory.create(
        id=id_at(at),
        company=company,
        kind="code",
        phone=phone,
        subject_id=code.pk,
        channel=tries[-1]["channel"],
        price=price,
        state="delivered" if is_delivered else "expired",
        params={"route": route} if route else {},
        created_at=at,
    )
    for n, attempt in enumerate(tries, start=1):
        _attempt(message, at, n, attempt)
    return message


def _attempt(message: Message, at: datetime, n: int, one: Try) -> None:
    started = at + timedelta(seconds=one.get("after", 0.0))
    state = "sent"
    error = ""
    ended = None
    if one.get("delivered") is not None:
        state = "delivered"
        ended = one["delivered"]
    elif one.get("refused") is not None:
        state = "failed"
        error = "barred" if one.get("barred") else "unreachable"
        ended = one["refused"]
    elif one.get("fault"):
        state = "failed"
        error = "retry"
        ended = 1.0
    AttemptFactory.create(
        message=message,
        n=n,
        channel=one["channel"],
        provider=one.get("provider", one["channel"]),
        state=state,
        error_class=error,
        started_at=started,
        finished_at=None if ended is None else started + timedelta(seconds=ended),
    )
