"""What codes cost by arm of the hold-out: what was charged, of all messages with the same code."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import Company
from channels.models import Message, RouteDay, RouterState
from tests.factories import TransferFactory
from tests.otp.route_learning.tried import count_at, tried

pytestmark = pytest.mark.django_db
WAY = {"channel": "telegram", "delivered": 3.0}


@pytest.fixture(autouse=True)
def _counted_until_an_hour_ago() -> None:
    past = timezone.now() - timedelta(hours=1)
    RouterState.objects.create(pk=RouterState.ONLY, learned_until=past, counted_until=past)


def charge(message: Message, tokens: int) -> None:
    TransferFactory.create(
        company=message.company,
        kind="capture",
        amount=tokens,
        proof="receipt",
        message_id=message.pk,
    )


def rows() -> list[tuple[object, ...]]:
    found = RouteDay.objects.order_by("-arm", "country")
    return list(found.values_list("country", "arm", "codes", "entered", "tokens", "tokens_squared"))


def count() -> None:
    count_at(timezone.now() + timedelta(minutes=15))


def test_arms_are_counted_by_day_and_country(company: Company) -> None:
    smart = [tried(company, WAY, route={"arm": "smart"}, phone=f"+7916123456{n}") for n in (7, 8)]
    sms = {"channel": "sms", "delivered": 3.0}
    held_out = tried(
        company, sms, route={"arm": "hold_out"}, phone="+79161234569", entered_after=20.0
    )
    tried(company, WAY, phone="+77011234567")
    for message in smart:
        charge(message, 1)
    charge(held_out, 16)

    count()
    count()

    assert rows() == [("RU", "smart", 2, 0, 2, 2), ("RU", "hold_out", 1, 1, 16, 256)]


def test_delivery_that_was_free_costs_nothing(company: Company) -> None:
    tried(company, WAY, route={"arm": "smart"}, price=16)

    count()

    assert rows() == [("RU", "smart", 1, 0, 0, 0)]


def test_code_that_was_sent_again_is_one_code_of_its_first_arm(company: Company) -> None:
    first = tried(company, WAY, ago=260, route={"arm": "smart"}, entered_after=100.0)
    again = tried(company, {"channel": "sms", "delivered": 2.0}, ago=200, route={"arm": "hold_out"})
    Message.objects.filter(pk=again.pk).update(subject_id=first.subject_id)
    charge(first, 1)
    charge(again, 16)

    count()

    assert rows() == [("RU", "smart", 1, 1, 17, 289)]


def test_codes_wait_until_all_is_charged(company: Company) -> None:
    message = tried(company, WAY, route={"arm": "smart"})
    count_at(timezone.now() + timedelta(minutes=5))
    assert rows() == []

    charge(message, 1)
    count()

    assert rows() == [("RU", "smart", 1, 0, 1, 1)]
