"""A drop of deliveries is noted once, told once, and over when deliveries are as usual."""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Company, Mail, Member, User
from catalogue.ids import first_id_at
from channels.history import drop_watch
from channels.history.drop_watch import Outcomes, is_drop
from channels.models import DayCount, DeliveryDrop, Message
from tests.api.races import at_once
from tests.factories import MemberFactory, MessageFactory

NORM = Outcomes(delivered=9600, ended=10_000)


@pytest.fixture
def company(db: None) -> Company:
    """A company whose SMS arrive: 97 of 100 on each day of the last two weeks."""
    return with_daily_counts(MemberFactory.create().company)


def with_daily_counts(company: Company, messages: int = 100) -> Company:
    days = [timezone.localdate() - timedelta(days=n) for n in range(1, 15)]
    for state, n in (("delivered", messages - 3), ("failed", 3)):
        DayCount.objects.bulk_create(
            DayCount(
                company=company,
                mode="live",
                day=day,
                channel="sms",
                kind="code",
                state=state,
                pace=0,
                messages=n,
            )
            for day in days
        )
    return company


_numbers = iter(range(10_000_000))


def send(
    company: Company, count: int, state: str, *, phone: str = "", at: datetime | None = None
) -> None:
    moment = at or timezone.now() - timedelta(minutes=30)
    ids = _ids(moment)
    for _ in range(count):
        number = phone or f"+7916{next(_numbers):07}"
        MessageFactory.create(
            id=next(ids),
            company=company,
            channel="sms",
            state=state,
            phone=number,
            created_at=moment,
        )


def _ids(moment: datetime) -> Iterator[object]:
    while True:
        yield first_id_at(moment + timedelta(microseconds=1000 * next(_numbers)))


def test_drop_is_reported_once_and_ends(company: Company) -> None:
    send(company, 15, "failed")
    send(company, 10, "delivered")

    drop_watch.watch()
    drop_watch.watch()

    (drop,) = drop_watch.open_drops(company)
    assert (round(drop.share), round(drop.usual)) == (40, 97)
    (email,) = Mail.objects.filter(template="delivery_drop")
    assert "SMS" in email.subject
    assert "40" in email.text

    send(company, 400, "delivered")
    drop_watch.watch()

    assert drop_watch.open_drops(company) == []
    drop.refresh_from_db()
    assert drop.ended_at is not None


def test_second_drop_is_reported_again(company: Company) -> None:
    send(company, 25, "failed")
    drop_watch.watch()
    DeliveryDrop.objects.update(ended_at=timezone.now())

    drop_watch.watch()

    assert Mail.objects.filter(template="delivery_drop").count() == 2


def test_two_runs_at_once_notify_once(transactional_db: None) -> None:
    company = with_daily_counts(MemberFactory.create().company)
    send(company, 25, "failed")

    at_once([drop_watch.watch] * 4)

    assert DeliveryDrop.objects.count() == 1
    assert Mail.objects.filter(template="delivery_drop").count() == 1


@pytest.mark.parametrize(
    ("messages", "changed"),
    [
        ([(100, {"state": "failed", "phone": "+79160000001"}), (19, {"state": "delivered"})], {}),
        ([(40, {"state": "failed"})], {"kind": "link"}),
        ([(40, {"state": "failed"})], {"mode": "test"}),
        ([(40, {"state": "failed", "ago": 180})], {}),
        ([(40, {"state": "failed", "ago": 1})], {}),
        ([(40, {"state": "sent"})], {}),
    ],
    ids=["one phone, many times", "links", "test keys", "hours ago", "just now", "under way"],
)
def test_inconclusive_messages_open_no_drop(
    company: Company, messages: list[tuple[int, dict[str, Any]]], changed: dict[str, str]
) -> None:
    for count, fields in messages:
        at = timezone.now() - timedelta(minutes=fields.pop("ago", 30))
        send(company, count, at=at, **fields)
    Message.objects.update(**changed or {"kind": "code"})

    drop_watch.watch()

    assert not DeliveryDrop.objects.exists()


def test_silence_ends_a_drop(company: Company) -> None:
    send(company, 25, "failed")
    drop_watch.watch()
    Message.objects.all().delete()

    drop_watch.watch()
    assert len(drop_watch.open_drops(company)) == 1

    DeliveryDrop.objects.update(seen_at=timezone.now() - drop_watch.SILENT - timedelta(minutes=1))
    drop_watch.watch()
    assert drop_watch.open_drops(company) == []


def test_email_goes_to_those_who_want_it(company: Company) -> None:
    for role in (Member.Role.DEVELOPER, Member.Role.ACCOUNTANT, Member.Role.DEVELOPER):
        MemberFactory.create(company=company, role=role)
    muted = User.objects.latest("pk")
    User.objects.filter(pk=muted.pk).update(muted_notices=["delivery"])
    send(company, 25, "failed")

    drop_watch.watch()

    told = set(Mail.objects.filter(template="delivery_drop").values_list("to", flat=True))
    roles = Member.objects.filter(user__email__in=told).values_list("role", flat=True)
    assert sorted(roles) == ["developer", "owner"]
    assert muted.email not in told


def test_drops_are_kept_for_three_months(company: Company) -> None:
    long_ago = timezone.now() - drop_watch.RETENTION - timedelta(days=1)
    DeliveryDrop.objects.create(
        company=company,
        channel="sms",
        share=1,
        usual=90,
        began_at=long_ago,
        seen_at=long_ago,
        ended_at=long_ago,
    )

    drop_watch.watch()

    assert not DeliveryDrop.objects.exists()


@pytest.mark.parametrize(
    ("delivered", "ended", "expected"),
    [
        (0, 0, False),
        (0, 19, False),  # too few to say
        (0, 20, True),
        (19, 20, False),
        (17, 20, False),  # 85 %, but of twenty
        (8, 20, True),
        (860, 1000, True),
        (8700, 10_000, False),  # significant, and nine points
        (10_000, 10_000, False),  # better than ever
    ],
)
def test_drop_is_significant_and_large(delivered: int, ended: int, expected: bool) -> None:
    assert is_drop(Outcomes(delivered, ended), NORM) is expected


@pytest.mark.parametrize("norm", [Outcomes(0, 0), Outcomes(99, 99), Outcomes(0, 5000)])
def test_drop_needs_a_norm_to_fall_from(norm: Outcomes) -> None:
    assert not is_drop(Outcomes(0, 1000), norm)


def test_norm_without_a_failure_is_a_norm() -> None:
    """Then one failure is no proof."""
    assert not is_drop(Outcomes(19, 20), Outcomes(1000, 1000))
    assert is_drop(Outcomes(5, 20), Outcomes(1000, 1000))
    assert not is_drop(Outcomes(20, 20), Outcomes(1000, 1000))


@pytest.mark.parametrize("share", [0.7, 0.9, 0.97])
@pytest.mark.parametrize("ended", [20, 60, 400])
def test_chance_fluctuation_is_not_a_drop(share: float, ended: int) -> None:
    chance = random.Random(7)  # noqa: S311 - the same in every run
    norm = Outcomes(round(5000 * share), 5000)

    hours = (
        Outcomes(sum(chance.random() < share for _ in range(ended)), ended) for _ in range(2000)
    )

    assert not any(is_drop(hour, norm) for hour in hours)
