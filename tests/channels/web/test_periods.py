"""The overview's period and how far its messages came: figures, files, and links to the rows."""

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Company, Member
from channels.history.breakdown import Breakdown, Steps
from channels.web.overview import breakdown_table
from channels.web.overview.breakdown_table import MIN_CHARGED, compare_with_sms
from channels.web.periods import PeriodForm
from tests.factories import ApiKeyFactory, MemberFactory, MessageFactory, VerificationFactory


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
def test_period_is_chosen_by_the_query(query: dict[str, str], days: tuple[str, str]) -> None:
    assert shown(**query) == days


def page(client: Client, **query: str) -> Any:
    return client.get(reverse("overview"), query)


def sent_ago(owner: Member, days: int, **fields: Any) -> None:
    at = timezone.now() - timedelta(days=days)
    MessageFactory.create(company=owner.company, created_at=at, **fields)


def test_period_is_compared_with_the_one_before(client: Client, owner: Member) -> None:
    for days in (0, 3, 8, 10, 20):
        sent_ago(owner, days)

    counted = {
        period: (figures.now.messages, figures.before.messages, sum(map(sum, _bars(figures))))
        for period in ("7", "14", "30")
        for figures in [page(client, period=period).context["figures"]]
    }

    assert counted == {"7": (2, 2, 2), "14": (4, 1, 4), "30": (5, 0, 5)}


def _bars(found: Any) -> list[list[int]]:
    return [list(counts.values()) for counts in found.days.values()]


def test_past_days_exclude_later_messages(client: Client, owner: Member) -> None:
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
    (day,) = set(re.findall(r'<th scope="row">\s*<a href="([^"]+)"', text))

    assert {state: len(rows) for state, rows in links.items()} == {"delivered": 1, "failed": 1}
    assert len(client.get(day).context["page"].rows) == 2


@pytest.fixture
def sender(owner: Member) -> Company:
    """A company with two messages of each property."""
    company = owner.company
    key = ApiKeyFactory.create(company=company)
    codes = [VerificationFactory.create(company=company, purpose=name) for name in ("in", "out")]
    for n, code in enumerate(codes):
        MessageFactory.create(
            company=company,
            subject_id=code.id,
            channel=("sms", "whatsapp")[n],
            phone=("+79161234567", "+77011234567")[n],
            api_key=(key, None)[n],
            kind="code",
        )
    return company


@pytest.mark.parametrize("by", list(breakdown_table.TITLES))
def test_each_row_leads_to_its_messages(client: Client, sender: Company, by: str) -> None:
    body = client.get(reverse("overview"), {"by": by}).content.decode()
    table = body.partition('id="funnel"')[2].partition("sm cards")[2]
    links = re.findall(r'class="words">\s*<a href="([^"]+)"', table.partition("</table>")[0])

    pages = [client.get(unescape(link)).context["page"].rows for link in links]

    assert [len(rows) for rows in pages] == [1, 1]
    assert {row.pk for rows in pages for row in rows} == {row.pk for row in sender.messages.all()}


def test_file_has_every_row(client: Client, sender: Company) -> None:
    response: Any = client.get(reverse("overview-csv"), {"by": "purpose"})

    lines = b"".join(response.streaming_content).decode("utf-8-sig").splitlines()
    assert lines[0].count(";") == 6
    assert lines[1:] == ['"in";1;0;0;0;0;0', '"out";1;0;0;0;0;0']


def test_tokens_are_for_those_who_see_money(client: Client, sender: Company) -> None:
    developer = MemberFactory.create(company=sender, role=Member.Role.DEVELOPER)
    client.force_login(developer.user)
    response: Any = client.get(reverse("overview-csv"), {"by": "api_key"})

    assert b"".join(response.streaming_content).decode("utf-8-sig").splitlines()[0].count(";") == 5


def test_query_of_a_purpose_is_escaped(client: Client, owner: Member) -> None:
    code = VerificationFactory.create(company=owner.company, purpose='a&b"<')
    MessageFactory.create(company=owner.company, subject_id=code.id, kind="code")

    body = client.get(reverse("overview"), {"by": "purpose"}).content.decode()

    assert "purpose=a%26b%22%3C" in body
    assert 'a&b"<' not in body


def sums(**rows: Steps) -> Breakdown:
    total = Steps()
    for steps in rows.values():
        total.add(steps.counts())
    return Breakdown("channel", rows, total=total)


def test_comparison_needs_enough_that_went_otherwise(db: None) -> None:
    few = sums(whatsapp=Steps(charged=MIN_CHARGED - 1, spent=99), sms=Steps(charged=900, spent=1))
    enough = sums(whatsapp=Steps(charged=100, spent=100), sms=Steps(charged=10, spent=160))
    countries = sums(RU=Steps(charged=60, spent=60), KZ=Steps(charged=50, spent=200))

    result = compare_with_sms(countries, enough)

    assert compare_with_sms(few, few) is None
    assert result is not None
    assert (result.charged, result.spent, result.by_sms, result.saved) == (110, 260, 1760, 1500)


def test_funnel_shows_previous_period(client: Client, sender: Company) -> None:
    today = client.get(reverse("overview"), {"period": "7"})
    assert (today.context["has_before"], "Мелким" in today.content.decode()) == (False, False)

    at = timezone.now() - timedelta(days=9)
    MessageFactory.create_batch(3, company=sender, created_at=at, state="delivered")
    MessageFactory.create(company=sender, created_at=at - timedelta(days=7))
    later = client.get(reverse("overview"), {"period": "7"})

    asked, _handed_over, delivered = later.context["steps_taken"][:3]
    assert (asked.now.number, asked.before.number) == (2, 3)
    assert (delivered.now.number, delivered.before) == (0, (3, 100.0))
    assert "Мелким" in later.content.decode()
