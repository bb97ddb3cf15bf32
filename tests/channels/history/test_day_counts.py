"""Daily counts are exact however late events come and however often counting runs."""

from collections import Counter
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
import time_machine
from django.conf import settings
from django.utils import timezone

from accounts.models import Company
from catalogue.ids import first_id_at
from channels.history import day_counts, figures
from channels.history.breakdown import breakdown
from channels.history.day_counts import count_days, last_counted
from channels.history.figures import DayRange
from channels.lifecycle.state_machine import EventKind
from channels.models import CountedDay, DayCount, Message, StaleDay
from parsing.days import start_of
from tests.api.races import at_once
from tests.channels.message_stages import apply_event
from tests.factories import (
    AttemptFactory,
    CompanyFactory,
    MessageFactory,
    TransferFactory,
    VerificationFactory,
)
from tests.otp.protection.sends import id_at

HOUR = timedelta(hours=1)


def day(ago: int) -> datetime:
    """An hour into the day, `ago` days before today."""
    return start_of(timezone.localdate() - timedelta(days=ago)) + HOUR


def create_finished(company: Company, ago: int, state: str = "delivered", **fields: Any) -> Message:
    at = day(ago)
    ended = {"delivered_at": at + timedelta(seconds=fields.pop("took", 3)), "finished_at": at}
    return MessageFactory.create(
        id=id_at(at),
        company=company,
        created_at=at,
        state=state,
        **(ended if state == "delivered" else {}),
        **fields,
    )


def figures_of(company: Company, mode: str = "live") -> figures.Figures:
    return figures.figures(company, mode)


def codes_of(company: Company) -> tuple[int, int]:
    total = breakdown(company, "live", DayRange.last_days(14), "channel").total
    return total.codes, total.entered


def counted() -> list[tuple[Any, ...]]:
    rows = DayCount.objects.order_by("company", "day", "channel", "kind", "state", "pace")
    return list(rows.values_list("company", "day", "channel", "kind", "state", "pace", "messages"))


def test_counted_days_and_today_add_up(company: Company) -> None:
    for ago, state in (
        (0, "queued"),
        (0, "delivered"),
        (1, "failed"),
        (13, "expired"),
        (14, "sent"),
    ):
        create_finished(company, ago, state)
    create_finished(company, 1, channel="sms")
    create_finished(company, 1, mode="test")
    create_finished(CompanyFactory.create(), 1)
    before = figures_of(company)

    count_days()

    result = figures_of(company)
    assert result == before
    assert result.now.states == {"queued": 1, "delivered": 2, "failed": 1, "expired": 1}
    assert result.before.states == {"sent": 1}
    assert [counts.total() for counts in result.days.values()] == [1] + [0] * 11 + [2, 2]
    assert list(result.days.values())[-2] == Counter(sms=1, whatsapp=1)
    assert (result.now.delivered_share, result.before.delivered_share) == (50.0, None)


def test_late_delivery_corrects_a_counted_day(company: Company) -> None:
    attempt = AttemptFactory.create(message=create_finished(company, 2, "expired"), state="expired")
    count_days()

    apply_event(attempt, EventKind.DELIVERED, at=day(2) + HOUR)
    stale = figures_of(company).now.states
    done = count_days()

    assert (stale, done) == ({"expired": 1}, 1)
    assert figures_of(company).now.states == {"delivered": 1}
    assert not StaleDay.objects.exists()


def test_counting_again_changes_nothing(company: Company) -> None:
    for ago in (1, 1, 2):
        create_finished(company, ago)
    count_days()
    first = counted()

    StaleDay.objects.bulk_create(
        [StaleDay(company_id=company.pk, mode="live", day=day(1).date()) for _ in range(3)]
    )
    again = (count_days(), count_days())

    assert counted() == first
    assert again == (3, 0)


def test_change_of_today_marks_no_stale_day(company: Company) -> None:
    attempt = AttemptFactory.create(
        message=MessageFactory.create(company=company, mode="test", price=0, state="sent")
    )

    apply_event(attempt, EventKind.DELIVERED)

    assert not StaleDay.objects.exists()


def test_day_is_counted_after_the_longest_code_lifetime(company: Company) -> None:
    midnight = start_of(timezone.localdate())

    with time_machine.travel(midnight + timedelta(minutes=24), tick=False):
        count_days()
        early = last_counted()
    with time_machine.travel(midnight + timedelta(minutes=26), tick=False):
        count_days()
        late = last_counted()

    assert early == timezone.localdate() - timedelta(days=2)
    assert late == timezone.localdate() - timedelta(days=1)


def test_missed_days_are_counted_later(company: Company) -> None:
    for ago in range(20):
        create_finished(company, ago)
    count_days()
    right = figures_of(company)

    CountedDay.objects.filter(day__gt=timezone.localdate() - timedelta(days=17)).delete()

    assert figures_of(company) == right


def test_days_before_the_first_counted_one_follow(company: Company) -> None:
    """Days of a release that counted 60 days, or of an imported history; phones of that age are
    anonymised.
    """
    for ago in (3, 70, 120, 200):
        message = create_finished(company, ago)
        Message.objects.filter(pk=message.pk).update(
            id=first_id_at(message.created_at), phone="+7999*" if ago > 90 else message.phone
        )
        TransferFactory.create(
            company=company,
            kind="capture",
            amount=7,
            message_id=message.id,
            proof="receipt",
            created_at=message.created_at,
        )
    count_days()
    first = timezone.localdate() - timedelta(days=210)

    shown = figures.figures(company, "live", figures.DayRange(first, timezone.localdate())).now

    assert (shown.messages, shown.spent) == (4, 28)
    oldest = CountedDay.objects.order_by("day").values_list("day", flat=True).first()
    assert oldest == timezone.localdate() - timedelta(days=200)
    assert count_days() == 0


def test_messages_of_an_erased_person_are_counted(company: Company) -> None:
    """The person may be erased before the day is counted."""
    for phone in ("+7999*", "+79991234567"):
        code = VerificationFactory.create(id=id_at(day(1)), company=company, phone=phone)
        create_finished(company, 1, phone=phone, subject_id=code.id)
    live = codes_of(company)
    count_days()

    assert codes_of(company) == live == (2, 0)
    assert [row[-1] for row in counted()] == [2]


@pytest.mark.parametrize(
    ("took", "median"),
    [([1, 2, 9], 2000), ([1, 2, 3, 9], 2000), ([0.1234], 120), ([83.6, 85], 84_000)],
)
def test_median_is_right_to_two_digits(company: Company, took: list[float], median: int) -> None:
    for n, seconds in enumerate(took):
        create_finished(company, n % 3, took=seconds)
    live = figures_of(company).medians
    count_days()

    assert figures_of(company).medians == live == {"": median, "whatsapp": median}


def test_delivery_before_creation_counts_as_instant(company: Company) -> None:
    create_finished(company, 0, took=-2)

    assert figures_of(company).median == 1


def test_codes_are_counted_once_however_often_sent(company: Company) -> None:
    for n, (ago, verified) in enumerate(((0, True), (1, True), (1, False))):
        code = VerificationFactory.create(
            id=UUID(int=first_id_at(day(ago)).int + n),
            company=company,
            verified_at=day(ago) if verified else None,
        )
        for channel in ("whatsapp", "sms"):
            create_finished(company, ago, subject_id=code.id, channel=channel)
    live = codes_of(company)
    count_days()

    assert codes_of(company) == live == (3, 2)
    assert figures.has_verified(company)
    assert not figures.has_verified(CompanyFactory.create())


def test_tokens_are_counted_on_the_day_they_moved(company: Company) -> None:
    for ago, kind, amount in (
        (0, "capture", 16),
        (1, "capture", 1),
        (1, "release", 2),
        (20, "capture", 4),
    ):
        TransferFactory.create(
            company=company,
            kind=kind,
            amount=amount,
            proof="receipt" if kind == "capture" else "",
            created_at=day(ago),
        )
    live = figures_of(company)
    count_days()
    result = figures_of(company)

    assert result == live
    assert (result.now.spent, result.now.returned, result.before.spent) == (17, 2, 4)


@pytest.mark.django_db(transaction=True)
def test_two_counters_at_once_count_once(company: Company) -> None:
    create_finished(company, 2)
    create_finished(company, 3)

    at_once([count_days, count_days])

    assert sum(row[-1] for row in counted()) == 2
    # Just after midnight yesterday may still change, and is not counted yet.
    open_for = day_counts.MIDNIGHT_GRACE + timedelta(seconds=settings.LONGEST_CODE_LIFETIME)
    is_settled = timezone.now() - open_for >= start_of(timezone.localdate())
    assert CountedDay.objects.count() == day_counts.FIRST_DAYS - (not is_settled)
