"""The steps of messages by their properties: past days as counted, today from the messages."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone

from accounts.models import Company
from catalogue.ids import first_id_at
from channels.history import day_counts, figures
from channels.history.breakdown import Breakdown, Dimension, breakdown
from channels.history.day_counts import MAX_PURPOSES, count_days
from channels.history.figures import DayRange
from channels.models import DayBreakdown, Message, StaleDay
from links.clicks import delivery_proof
from parsing.days import start_of
from tests.factories import (
    ApiKeyFactory,
    CompanyFactory,
    LinkFactory,
    MessageFactory,
    TransferFactory,
    VerificationFactory,
)

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def day(ago: int) -> datetime:
    return start_of(timezone.localdate() - timedelta(days=ago)) + HOUR


def id_of(ago: int, n: int) -> UUID:
    return UUID(int=first_id_at(day(ago)).int + n)


def code(company: Company, ago: int, n: int, *, entered: bool = False, **fields: Any) -> Message:
    purpose = fields.pop("purpose", "verification")
    at = day(ago)
    verification = VerificationFactory.create(
        id=id_of(ago, n), company=company, purpose=purpose, verified_at=at if entered else None
    )
    state = fields.setdefault("state", "delivered")
    sent_at = None if state == "queued" else at
    return MessageFactory.create(
        id=id_of(ago, 1000 + n),
        company=company,
        subject_id=verification.id,
        created_at=at,
        sent_at=sent_at,
        **fields,
    )


def shown(company: Company, dimension: str = "channel", days: int = 14) -> Breakdown:
    return breakdown(company, "live", DayRange.last_days(days), dimension)


@pytest.mark.parametrize("dimension", Dimension.values)
def test_counted_days_and_today_say_the_same(company: Company, dimension: str) -> None:
    key = ApiKeyFactory.create(company=company)
    for ago in (0, 1, 3):
        code(company, ago, 1, entered=True, api_key=key, purpose="login")
        code(company, ago, 2, state="failed", phone="+77011234567", channel="sms")
        code(company, ago, 3, state="queued")
    code(CompanyFactory.create(), 1, 4)
    live = shown(company, dimension)

    count_days()

    assert shown(company, dimension) == live
    total = live.total
    assert (total.requested, total.handed_over, total.delivered, total.entered) == (9, 6, 3, 3)
    assert len(live.rows) == 2


@pytest.mark.parametrize("written", ["+79161234567", "8 (916) 123-45-67"])
def test_purpose_is_counted_without_the_phone(company: Company, written: str) -> None:
    """The counts outlive the retention of phones, and no erasure changes them."""
    for ago in (0, 1):
        code(company, ago, 1, phone="+79161234567", purpose=f"login of {written}")
    count_days()

    assert list(shown(company, "purpose").rows) == ["login of …"]


def test_total_is_that_of_the_figures_above(company: Company) -> None:
    for ago in (0, 1, 2):
        first = code(company, ago, 1, entered=True, state="failed")
        MessageFactory.create(
            id=id_of(ago, 2000),
            company=company,
            subject_id=first.subject_id,
            created_at=day(ago),
            channel="sms",
            state="delivered",
        )
    count_days()

    now = figures.figures(company, "live").now
    result = shown(company)

    assert (
        (result.total.requested, result.total.delivered) == (now.messages, now.delivered) == (6, 3)
    )
    assert (result.total.codes, result.total.entered) == (3, 3)
    # The code counts where it was delivered.
    assert (result.rows["sms"].entered, result.rows["whatsapp"].entered) == (3, 0)


def test_tokens_are_those_captured_on_the_day(company: Company) -> None:
    for ago in (0, 2):
        message = code(company, ago, 1, channel="sms")
        TransferFactory.create(
            company=company,
            kind="capture",
            amount=16,
            proof="receipt",
            message_id=message.id,
            created_at=day(ago),
        )
    failed = code(company, 20, 1, channel="telegram")
    TransferFactory.create(
        company=company, kind="release", amount=9, message_id=failed.id, created_at=day(2)
    )
    live = shown(company)
    count_days()

    result = shown(company)

    assert result == live
    assert list(result.rows) == ["sms"]  # nothing of another was asked for or paid
    assert result.total.returned == 9
    assert (result.rows["sms"].charged, result.rows["sms"].spent) == (2, 32)
    assert result.total.spent == figures.figures(company, "live").now.spent


def test_link_opened_days_later_is_counted(company: Company) -> None:
    message = MessageFactory.create(
        id=id_of(3, 1),
        company=company,
        kind="link",
        content="link",
        created_at=day(3),
        state="delivered",
    )
    link = LinkFactory.create(company=company, message_id=message.id)
    Message.objects.filter(pk=message.pk).update(subject_id=link.id)
    count_days()

    delivery_proof.prove({link.id: timezone.now().timestamp()})
    early = count_days()
    StaleDay.objects.update(due_at=timezone.now())
    late = count_days()

    assert (early, late) == (0, 1)
    assert (shown(company).total.linked, shown(company).total.opened) == (1, 1)


def test_purposes_beyond_the_most_used_are_one_row(company: Company) -> None:
    """Clients choose them: an order's number would be a row for each message, for ever."""
    for n in range(MAX_PURPOSES + 5):
        code(company, 2, n, purpose=f"order-{n}")
    code(company, 2, 500, purpose="order-7")
    count_days()

    result = shown(company, "purpose")

    kept = DayBreakdown.objects.filter(company=company, dimension="purpose")
    assert kept.count() == MAX_PURPOSES + 1
    assert result.rows["order-7"].requested == 2
    assert (result.rest.requested, result.total.requested) == (5, MAX_PURPOSES + 6)


def test_queries_do_not_grow_with_the_rows(
    company: Company, django_assert_num_queries: Any
) -> None:
    for n in range(3):
        code(company, 1, n, purpose=f"p{n}")
    count_days()

    with django_assert_num_queries(4):
        shown(company, "purpose")


@pytest.mark.parametrize(
    ("phone", "country"), [("+7916*", "RU"), ("+7701*", "KZ"), ("+1416*", "CA"), ("", "")]
)
def test_country_is_derived_from_an_anonymised_phone(phone: str, country: str) -> None:
    assert day_counts.country_of_any(phone) == country
