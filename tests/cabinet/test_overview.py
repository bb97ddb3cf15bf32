import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Member
from tests.factories import (
    ApiKeyFactory,
    MessageFactory,
    VerificationFactory,
    WalletFactory,
)


def steps(client: Client) -> dict[str, bool]:
    found: dict[str, bool] = client.get(reverse("overview")).context["steps"]
    return found


def test_steps_tick_as_things_happen(client: Client, owner: Member) -> None:
    seen = [steps(client)]

    ApiKeyFactory.create(company=owner.company)
    seen.append(steps(client))
    MessageFactory.create(company=owner.company, mode="test")
    VerificationFactory.create(company=owner.company)
    seen.append(steps(client))
    VerificationFactory.create(company=owner.company, verified_at=timezone.now())
    seen.append(steps(client))

    assert [[one["key"], one["message"], one["code"]] for one in seen] == [
        [False, False, False],
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]


def test_quickstart_goes_when_it_is_done(client: Client, owner: Member) -> None:
    before = client.get(reverse("overview")).content.decode()
    ApiKeyFactory.create(company=owner.company)
    MessageFactory.create(company=owner.company)
    VerificationFactory.create(company=owner.company, verified_at=timezone.now())

    after = client.get(reverse("overview")).content.decode()

    assert 'id="quickstart"' in before
    assert 'id="quickstart"' not in after


def test_balance_without_a_wallet_is_zero(client: Client, owner: Member) -> None:
    assert client.get(reverse("overview")).context["balance"] == (0, 0)


@pytest.mark.parametrize(
    ("available", "words"), [(1, "токен доступен"), (2, "токена доступно"), (5, "токенов доступно")]
)
def test_balance_speaks_russian(client: Client, owner: Member, available: int, words: str) -> None:
    WalletFactory.create(company=owner.company, available=available)

    assert words in client.get(reverse("overview")).content.decode()


def test_last_five_messages_of_both_modes(client: Client, owner: Member) -> None:
    MessageFactory.create_batch(4, company=owner.company)
    newest = MessageFactory.create_batch(3, company=owner.company, mode="test")
    MessageFactory.create()

    recent = client.get(reverse("overview")).context["recent"]

    assert len(recent) == 5
    assert recent[:3] == newest[::-1]


def test_keys_that_ended_do_not_count(client: Client, owner: Member) -> None:
    ApiKeyFactory.create(company=owner.company)
    ApiKeyFactory.create(company=owner.company, revoked_at=timezone.now())

    assert client.get(reverse("overview")).context["keys"] == 1
