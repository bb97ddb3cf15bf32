"""The notices above the figures of the overview."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Company, Member
from channels.history.day_counts import COUNTS
from channels.models import DayBreakdown, DayCount, DeliveryDrop
from channels.vendor_accounts import availability
from channels.web.overview.notices import notices_for
from tests.channels.accounts import open_breaker
from tests.factories import CompanyFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("english")]


def spend(company: Company, tokens: int, *days_ago: int, mode: str = "live") -> None:
    steps = dict.fromkeys(COUNTS, 0) | {"spent": tokens}
    for n in days_ago:
        day = timezone.localdate() - timedelta(days=n)
        DayBreakdown.objects.create(
            company=company, mode=mode, day=day, dimension="channel", value="sms", **steps
        )
        DayBreakdown.objects.create(  # the same tokens
            company=company, mode=mode, day=day, dimension="country", value="RU", **steps
        )


def titles(member: Member, available: int | None = None) -> list[str]:
    return [notice.title for notice in notices_for(member.company, available=available)]


@pytest.mark.parametrize(
    ("available", "said"),
    [
        (700, []),
        (699, ["Tokens for 6 days"]),
        (199, ["Tokens for 1 day"]),
        (99, ["Tokens for less than a day"]),
        (0, ["Tokens for less than a day"]),
        (None, []),  # of those who do not see money
    ],
)
def test_tokens_end_at_the_pace_of_the_last_week(
    owner: Member, available: int | None, said: list[str]
) -> None:
    spend(owner.company, 100, 1, 2, 3, 4, 5, 6, 7)
    spend(owner.company, 9999, 8, 0)  # before the week, and today, which is not over
    spend(owner.company, 9999, 1, mode="test")
    spend(CompanyFactory.create(), 9999, 1)

    assert titles(owner, available) == said


def test_overview_shows_open_delivery_drops_of_the_company(client: Client, owner: Member) -> None:
    now = timezone.now()
    rows = {"share": 61.5, "usual": 97.25, "began_at": now, "seen_at": now}
    DeliveryDrop.objects.create(company=owner.company, channel="sms", **rows)
    DeliveryDrop.objects.create(company=CompanyFactory.create(), channel="telegram", **rows)
    DeliveryDrop.objects.create(company=owner.company, channel="whatsapp", ended_at=now, **rows)

    (notice,) = notices_for(owner.company, available=None)

    assert notice.title == "Fewer codes by SMS are arriving"
    assert "61.5" in notice.text
    assert client.get(notice.url).status_code == 200


def test_overview_names_an_unavailable_channel_that_was_used(client: Client, owner: Member) -> None:
    open_breaker("twilio")
    availability.refresh()
    assert titles(owner) == []

    DayCount.objects.create(
        company=owner.company,
        mode="live",
        day=timezone.localdate() - timedelta(days=2),
        channel="sms",
        kind="code",
        state="delivered",
        pace=0,
        messages=1,
    )

    assert titles(owner) == ["SMS is not available now"]
    body = client.get(reverse("overview")).content.decode()
    assert body.count("overview-notice-1") == 2
