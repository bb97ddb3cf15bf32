"""The cabinet's overview page."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Company, Member
from otp.models import Verification
from tests.factories import (
    ApiKeyFactory,
    CompanyFactory,
    MessageFactory,
    TransferFactory,
    VerificationFactory,
    WalletFactory,
)


@pytest.fixture
def company(db: None) -> Company:
    """A company without tokens."""
    return CompanyFactory.create()


def steps(client: Client) -> dict[str, bool]:
    result: dict[str, bool] = client.get(reverse("overview")).context["steps"]
    return result


def test_steps_tick_as_things_happen(client: Client, owner: Member) -> None:
    seen = [steps(client)]

    ApiKeyFactory.create(company=owner.company)
    seen.append(steps(client))
    code = VerificationFactory.create(company=owner.company, mode="test")
    MessageFactory.create(company=owner.company, mode="test", subject_id=code.id)
    seen.append(steps(client))
    Verification.objects.update(verified_at=timezone.now())
    seen.append(steps(client))

    assert [[done["key"], done["message"], done["code"]] for done in seen] == [
        [False, False, False],
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]


def test_quickstart_disappears_when_it_is_done(client: Client, owner: Member) -> None:
    before = client.get(reverse("overview")).content.decode()
    ApiKeyFactory.create(company=owner.company)
    code = VerificationFactory.create(company=owner.company, verified_at=timezone.now())
    MessageFactory.create(company=owner.company, subject_id=code.id)

    after = client.get(reverse("overview")).content.decode()

    assert 'id="quickstart"' in before
    assert 'id="quickstart"' not in after


def test_last_five_messages_of_both_modes(client: Client, owner: Member) -> None:
    MessageFactory.create_batch(4, company=owner.company)
    newest = MessageFactory.create_batch(3, company=owner.company, mode="test")
    MessageFactory.create()

    recent = client.get(reverse("overview")).context["recent"]

    assert len(recent) == 5
    assert recent[:3] == newest[::-1]


def test_steps_poll_for_updates(client: Client, owner: Member) -> None:
    ApiKeyFactory.create(company=owner.company)
    unchanged = client.get(reverse("overview-quickstart"), {"done": "1"})
    MessageFactory.create(company=owner.company)

    changed = client.get(reverse("overview-quickstart"), {"done": "1"})

    assert unchanged.status_code == 204
    assert "done=2" in changed.content.decode()


def test_request_of_the_steps_names_the_own_key(client: Client, owner: Member) -> None:
    key = ApiKeyFactory.create(company=owner.company, mode="test")

    body = client.get(reverse("overview")).content.decode()

    assert "Bearer YOUR_API_KEY" in body
    assert f"{key.name}, {key}" in body
    assert key.plaintext not in body


def test_chart_has_a_bar_and_a_row_for_each_day(client: Client, owner: Member) -> None:
    MessageFactory.create_batch(3, company=owner.company, channel="sms")

    response = client.get(reverse("overview"))

    bars = response.context["chart"].bars
    body = response.content.decode()
    assert [bar.total for bar in bars] == [0] * 13 + [3]
    assert body.count('class="chart-day"') == body.count('<th scope="row">') == 14
    assert body.count('type="button" tabindex="-1"') == 13
    counts = [(str(series.label), n) for series, n in bars[-1].counts]
    assert counts == [("WhatsApp", 0), ("Telegram", 0), ("SMS", 3), ("MAX", 0)]


def test_chart_shows_undelivered_messages_and_costs(client: Client, owner: Member) -> None:
    MessageFactory.create(company=owner.company, state="failed")
    MessageFactory.create(company=owner.company, state="expired")
    paid = MessageFactory.create(company=owner.company, state="delivered")
    WalletFactory.create(company=owner.company)
    TransferFactory.create(
        company=owner.company, kind="capture", amount=16, proof="receipt", message_id=paid.id
    )

    live = client.get(reverse("overview")).context["chart"].bars
    test = client.get(reverse("overview"), {"mode": "test"}).context["chart"].bars

    assert live[-1].extras == [("Не доставлено", 2), ("Израсходовано токенов", 16)]
    assert live[-2].extras == [("Не доставлено", 0), ("Израсходовано токенов", 0)]
    assert [label for label, _n in test[-1].extras] == ["Не доставлено"]
