"""A history of many made-up companies: whole, with books that agree, and never sent."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Mail
from api.models import IdempotentRequest
from billing.models import Order, Transfer, Wallet
from channels.models import Attempt, CountedDay, FallbackEvent, Message, Receipt
from channels.reconciliation import Breach, breaches
from links.models import Link
from otp.models import Verification
from tests.database_cleanup import empty_database
from tools.demo import history, months
from webhooks.models import Delivery, Event

pytestmark = pytest.mark.django_db
MESSAGES = 1_500


@pytest.fixture(scope="module")
def found(django_db_setup: None, django_db_blocker: Any) -> Iterator[list[Breach]]:
    """Makes a history; yields the contradictions of its books."""
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(months, "create_earlier", lambda _first: 0)  # they would outlive the test
        history.of_companies(5, messages=MESSAGES, months=1)
        yield list(breaches())
        empty_database()


def test_books_of_demo_companies_balance(found: list[Breach]) -> None:
    assert found == []
    assert not Transfer.objects.filter(balance_after__lt=0).exists()
    assert not Wallet.objects.exclude(held=0).exists()
    paid = Order.objects.filter(state="paid").values_list("tokens", flat=True)
    assert sorted(paid) == sorted(
        Transfer.objects.filter(kind="top_up").values_list("amount", flat=True)
    )


def test_every_table_has_its_rows(found: list[Breach]) -> None:
    contents = Message.objects.values_list("content", flat=True).distinct()

    assert Message.objects.count() == MESSAGES
    assert {*contents} == {"code", "code_with_link", "link"}
    assert Attempt.objects.count() == MESSAGES + FallbackEvent.objects.count()
    for rows in (FallbackEvent.objects, Link.objects, Receipt.objects, Event.objects):
        assert rows.count() > 50, rows
    assert Delivery.objects.count() == Event.objects.count()
    # Chance decides whether the last day has any: keys are of the messages that had an event.
    recently = timezone.now() - timedelta(hours=23)
    assert IdempotentRequest.objects.count() >= Event.objects.filter(at__gte=recently).count()
    assert CountedDay.objects.exists()
    assert Verification.objects.filter(verified_at=None).exists()


def test_demo_rows_are_never_sent(found: list[Breach]) -> None:
    assert not Message.objects.filter(state__in=["queued", "sent"]).exists()
    assert not Delivery.objects.exclude(due_at=None).exists()
    assert not Mail.objects.exists()
    assert not Message.objects.exclude(phone__startswith="+7000").exists()
