"""The overview's period: presets, own days, what is counted in it, and links to the rows."""

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Member
from channels.web.periods import PeriodForm
from tests.factories import MessageFactory


def shown(**query: str) -> tuple[str, str]:
    with time_machine.travel("2026-03-05 12:00:00+03:00"):
        result = PeriodForm(query).day_range()
    return f"{result.first:%m-%d}", f"{result.last:%m-%d}"


@pytest.mark.parametrize(
    ("query", "days"),
    [
        ({}, ("02-20", "03-05")),
        ({"period": "7"}, ("02-27", "03-05")),
        ({"period": "month"}, ("03-01", "03-05")),
        ({"period": "last-month"}, ("02-01", "02-28")),
        (
            {"period": "days", "date_from": "2026-01-10", "date_to": "2026-01-12"},
            ("01-10", "01-12"),
        ),
        (
            {"period": "days", "date_from": "2026-03-01", "date_to": "2027-01-01"},
            ("03-01", "03-05"),
        ),
        ({"period": "days", "date_to": "2026-03-01"}, ("03-01", "03-01")),
        (
            {"period": "days", "date_from": "2026-03-02", "date_to": "2026-03-01"},
            ("02-20", "03-05"),
        ),
        ({"period": "days", "date_from": "2020-01-01"}, ("02-20", "03-05")),
    ],
)
def test_period_by_the_query(query: dict[str, str], days: tuple[str, str]) -> None:
    assert shown(**query) == days


def page(client: Client, **query: str) -> Any:
    return client.get(reverse("overview"), query)


def sent_ago(owner: Member, days: int, **fields: Any) -> None:
    at = timezone.now() - timedelta(days=days)
    MessageFactory.create(company=owner.company, created_at=at, **fields)


def test_messages_of_the_period_and_of_the_one_before(client: Client, owner: Member) -> None:
    for days in (0, 3, 8, 10, 20):
        sent_ago(owner, days)

    counted = {
        period: (item.now.messages, item.before.messages, sum(map(sum, _bars(item))))
        for period in ("7", "14", "30")
        for item in [page(client, period=period).context["figures"]]
    }

    assert counted == {"7": (2, 2, 2), "14": (4, 1, 4), "30": (5, 0, 5)}


def _bars(found: Any) -> list[list[int]]:
    return [list(counts.values()) for counts in found.days.values()]


def test_days_of_the_past_leave_out_what_came_later(client: Client, owner: Member) -> None:
    for days in (0, 5, 6, 7, 9):
        sent_ago(owner, days)
    today = timezone.localdate()
    query = {
        "period": "days",
        "date_from": f"{today - timedelta(days=6)}",
        "date_to": f"{today - timedelta(days=5)}",
    }

    result = page(client, **query).context["figures"]

    assert (result.now.messages, result.before.messages, len(result.days)) == (2, 1, 2)


def test_every_number_leads_to_its_rows(client: Client, owner: Member) -> None:
    sent_ago(owner, 1, state="delivered", delivered_at=timezone.now())
    sent_ago(owner, 1, state="failed", error="recipient_unreachable")
    sent_ago(owner, 20, state="failed", error="recipient_unreachable")

    text = unescape(page(client).content.decode())
    links = {
        state: client.get(link).context["page"].rows
        for state, link in re.findall(r'href="(?=[^"]*&state=(\w+))([^"]+)"', text)
    }
    (day,) = set(re.findall(r'<th scope="row"><a href="([^"]+)"', text))

    assert {state: len(rows) for state, rows in links.items()} == {"delivered": 1, "failed": 1}
    assert len(client.get(day).context["page"].rows) == 2
