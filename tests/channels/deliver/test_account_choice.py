"""The account that carries a message: eligibility, order, shares and rates."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django import Settings

from channels.deliver import claims
from channels.models import Attempt, Contact, Message, ProviderAccount
from tests.api.blocking import start_blocked
from tests.api.races import at_once
from tests.channels.accounts import (
    KZ,
    UZ,
    create_account,
    half_open_breaker,
    name_accounts,
    open_breaker,
    sms,
)
from tests.channels.message_stages import claim
from tests.factories import AttemptFactory, MessageFactory

ALMATY = "+77011234567"
MOSCOW = "+79161234567"


@pytest.fixture(autouse=True)
def _three_accounts(db: None, settings: Settings) -> None:
    name_accounts(settings, "kz", "uz")
    settings.BOTS_ASSUME_CONTACT = False


def carriers(limit: int = 100) -> list[str]:
    return [claimed.provider for claimed in claim(limit)]


def carrier(**fields: object) -> str | None:
    sms(**fields)  # type: ignore[arg-type]
    return next(iter(carriers()), None)


def test_accounts_follow_the_operators_order() -> None:
    create_account("twilio", position=7)
    create_account(KZ, position=5)
    create_account(UZ, position=6)

    assert carrier() == KZ


def test_longest_phone_prefix_beats_the_operators_order() -> None:
    create_account(KZ, prefixes=["+7"])
    create_account(UZ, prefixes=["+7701", "+998"])

    assert carrier(phone=MOSCOW) == KZ
    assert carrier(phone=ALMATY) == UZ
    assert carrier(phone="+12025550123") == "twilio"


def test_message_without_a_matching_account_stays_due() -> None:
    for name in ("twilio", KZ, UZ):
        create_account(name, prefixes=["+998"])

    assert carrier(phone=MOSCOW) is None
    assert Message.objects.get().due_at is not None
    assert Attempt.objects.count() == 0


def test_accounts_in_one_position_share_messages_by_weight() -> None:
    create_account("twilio", position=1, weight=1)
    create_account(KZ, position=1, weight=3)
    company = sms().company
    MessageFactory.create_batch(599, company=company, channel="sms")

    drawn = Counter(carriers(600))

    assert drawn.total() == 600
    assert set(drawn) == {"twilio", KZ}
    assert 380 < drawn[KZ] < 520


@pytest.mark.parametrize("how", ["disabled", "open"])
def test_unusable_account_is_skipped(how: str) -> None:
    if how == "open":
        open_breaker("twilio")
    else:
        create_account("twilio", is_enabled=False)

    assert carrier() == KZ


def test_message_waits_while_every_breaker_is_open() -> None:
    for name in ("twilio", KZ, UZ):
        open_breaker(name)

    assert carrier() is None
    ProviderAccount.objects.filter(name=UZ).update(open_until=None)
    assert carriers() == [UZ]


def test_half_open_account_is_probed_by_one_message() -> None:
    half_open_breaker("twilio")
    sms(), sms()

    (probe,) = claim(100)
    (other,) = claim(100)

    assert (probe.provider, probe.trips, probe.is_probe) == ("twilio", 1, True)
    assert (other.provider, other.is_probe) == (KZ, False)


def test_probe_without_a_result_is_repeated(settings: Settings) -> None:
    now = timezone.now()
    half_open_breaker("twilio", probed_at=now - timedelta(seconds=settings.LEASE - 5))
    assert carrier() == KZ

    ProviderAccount.objects.update(probed_at=now - timedelta(seconds=settings.LEASE + 5))
    assert carrier() == "twilio"


@pytest.mark.django_db(transaction=True)
def test_two_workers_send_one_probe() -> None:
    half_open_breaker("twilio")
    for _ in range(8):
        sms()

    taken = [claimed for some in at_once([partial(claims.claim, 4)] * 2) for claimed in some]

    assert sum(claimed.is_probe for claimed in taken) == 1
    assert [claimed.provider for claimed in taken].count("twilio") == 1


@pytest.mark.django_db(transaction=True)
def test_worker_waits_for_the_probe_of_another() -> None:
    half_open_breaker("twilio")
    sms(), sms()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            (mine,) = claims.claim(1)
            late = start_blocked(pool, partial(claims.claim, 1))
        (theirs,) = late.result()

    assert (mine.provider, theirs.provider) == ("twilio", KZ)


def test_messages_over_the_rate_use_another_account() -> None:
    create_account("twilio", max_per_second=30)
    for _ in range(6):
        sms()

    first, second = carriers(), carriers()

    assert (first, second) == (["twilio"] * 3, [KZ] * 3)


@pytest.mark.parametrize(("passed", "count"), [(0, 0), (50, 4), (100, 8)])
def test_rate_allowance_refills_with_time(passed: int, count: int) -> None:
    create_account("twilio", max_per_second=80)
    for name in (KZ, UZ):
        create_account(name, is_enabled=False)
    for _ in range(20):
        sms()
    assert len(claim(100)) == 8

    account = ProviderAccount.objects.get(name="twilio")
    assert account.tat is not None
    account.tat -= timedelta(milliseconds=passed)
    account.save()

    assert len(claim(100)) == count


@pytest.mark.django_db(transaction=True)
def test_two_workers_share_one_rate() -> None:
    create_account("twilio", max_per_second=40)
    for name in (KZ, UZ):
        create_account(name, is_enabled=False)
    for _ in range(20):
        sms()

    at_once([partial(claims.claim, 20)] * 3)

    sent = Attempt.objects.count()
    assert 4 <= sent < 12  # four at once, and what the moments between the three allow


def test_rate_limit_delays_no_other_channel() -> None:
    create_account("twilio", max_per_second=10, prefixes=[])
    for name in (KZ, UZ):
        create_account(name, is_enabled=False)
    sms(), sms()
    MessageFactory.create()

    assert sorted(carriers()) == ["twilio", "whatsapp_cloud"]


def test_retry_prefers_an_untried_account() -> None:
    message = sms(tries=1)
    AttemptFactory.create(message=message, n=1, provider="twilio", state="failed")

    (claimed,) = claim(100)

    assert (claimed.provider, claimed.n, claimed.has_other_account) == (KZ, 2, True)


def test_retry_follows_the_order_once_all_accounts_failed() -> None:
    message = sms(tries=3)
    for n, name in enumerate(("twilio", KZ, UZ), start=1):
        AttemptFactory.create(message=message, n=n, provider=name, state="failed")

    (claimed,) = claim(100)

    assert (claimed.provider, claimed.has_other_account) == ("twilio", False)


@pytest.mark.parametrize(
    ("has_contact", "is_gateway_open", "expected"),
    [
        (False, True, ("telegram_gateway", False, None)),
        (True, True, ("telegram_gateway", True, None)),
        (True, False, ("telegram_bot", False, 7)),
        (False, False, None),
    ],
)
def test_bot_carries_codes_to_its_contacts_only(
    has_contact: bool, is_gateway_open: bool, expected: tuple[str, bool, int | None] | None
) -> None:
    if has_contact:
        Contact.objects.create(provider="telegram_bot", phone=MOSCOW, chat_id=7)
    if not is_gateway_open:
        open_breaker("telegram_gateway")
    MessageFactory.create(channel="telegram", phone=MOSCOW)

    result = [
        (claimed.provider, claimed.has_contact_account, claimed.chat_id) for claimed in claim(100)
    ]

    assert result == ([expected] if expected else [])


@pytest.mark.parametrize(
    "fields",
    [{"provider": "telegram_bot", "blocked_at": timezone.now()}, {"provider": "another_bot"}],
    ids=["blocked the bot", "of another bot"],
)
def test_contact_that_the_bot_may_not_write_to_is_ignored(fields: dict[str, Any]) -> None:
    Contact.objects.create(phone=MOSCOW, chat_id=7, **fields)
    open_breaker("telegram_gateway")
    MessageFactory.create(channel="telegram", phone=MOSCOW)

    assert carriers() == []


def test_link_that_only_the_bot_carries_is_tried_without_a_contact() -> None:
    MessageFactory.create(channel="telegram", content="link", kind="link")

    assert carriers() == ["telegram_bot"]


def test_account_that_reported_unreachable_is_not_retried() -> None:
    Contact.objects.create(provider="telegram_bot", phone=MOSCOW, chat_id=7)
    message = MessageFactory.create(channel="telegram", phone=MOSCOW, tries=2)
    tried = {"state": "failed", "channel": "telegram", "accepted_at": None, "provider_id": None}
    AttemptFactory.create(
        message=message, n=1, provider="telegram_gateway", error_class="unreachable", **tried
    )
    AttemptFactory.create(message=message, n=2, provider="telegram_bot", **tried)

    assert carriers() == ["telegram_bot"]


def test_message_waits_while_its_untried_account_is_paused() -> None:
    Contact.objects.create(provider="telegram_bot", phone=MOSCOW, chat_id=7)
    open_breaker("telegram_bot")
    message = MessageFactory.create(channel="telegram", phone=MOSCOW, tries=1)
    AttemptFactory.create(
        message=message, provider="telegram_gateway", state="failed", error_class="unreachable"
    )

    assert carriers() == []
