"""Messages move to the account whose codes are entered, and no further than the operator allows."""

import random
from collections import Counter

import pytest
from pytest_django import Settings

from channels.models import ProviderAccount, RouterState
from channels.routing.learned import account_shares, learned_router
from channels.routing.smart.router import Router
from otp.statistics import route_learning
from tests.channels.accounts import KZ, UZ, create_account, name_accounts, sms
from tests.channels.message_stages import claim
from tests.factories import CompanyFactory
from tests.otp.tried import begin, tried

SAME = ("5", "sms")


@pytest.fixture(autouse=True)
def _accounts(db: None, settings: Settings) -> None:
    name_accounts(settings, "kz", "uz")
    create_account(KZ, position=5)
    create_account(UZ, position=5)
    create_account("twilio", position=9)


def record_sends(
    router: Router, sends: int, *, rates: dict[str, float], start: float = 0.0
) -> None:
    draw = random.Random(1)  # noqa: S311 - a simulation
    names = sorted(rates)
    for n in range(sends):
        name = names[n % len(names)]
        is_correct = draw.random() < rates[name]
        account_shares.record(router, start + 30.0 * n, name, verified=is_correct)


def factors() -> dict[str, float]:
    return dict(ProviderAccount.objects.values_list("name", "share_factor"))


def shares(router: Router) -> dict[str, float]:
    return router.accounts[SAME].shares


def test_only_accounts_that_stand_in_for_each_other_are_compared() -> None:
    assert account_shares.groups() == {SAME: {KZ: 0.5, UZ: 0.5}}

    ProviderAccount.objects.filter(name=KZ).update(weight=3)
    assert account_shares.groups() == {SAME: {KZ: 0.75, UZ: 0.25}}


@pytest.mark.parametrize(
    "change", [{"position": 6}, {"prefixes": ["+7701"]}, {"is_share_fixed": True}]
)
def test_operator_sets_an_account_apart(change: dict[str, object]) -> None:
    ProviderAccount.objects.filter(name=UZ).update(**change)

    assert account_shares.groups() == {}


def test_account_that_loses_messages_gets_few_claims() -> None:
    router = Router({})
    account_shares.follow_accounts(router, account_shares.groups())
    record_sends(router, 2000, rates={KZ: 0.55, UZ: 0.92})

    account_shares.write_factors(router)

    assert shares(router)[KZ] == pytest.approx(0.05)
    assert factors() == pytest.approx({KZ: 0.1, UZ: 1.9, "twilio": 1.0})
    for _ in range(80):
        sms()
    carried = Counter(claimed.provider for claimed in claim(100))
    assert carried[KZ] < 20  # 4 expected; 40 without what was learned
    assert carried[KZ] + carried[UZ] == 80


def test_operator_s_change_restarts_the_shares() -> None:
    router = Router({})
    account_shares.follow_accounts(router, account_shares.groups())
    record_sends(router, 2000, rates={KZ: 0.55, UZ: 0.92})
    account_shares.write_factors(router)
    ProviderAccount.objects.filter(name=KZ).update(is_share_fixed=True)

    account_shares.follow_accounts(router, account_shares.groups())
    account_shares.write_factors(router)

    assert router.accounts == {}
    assert set(factors().values()) == {1.0}


def test_paused_account_keeps_its_learned_share() -> None:
    router = Router({})
    account_shares.follow_accounts(router, account_shares.groups())
    record_sends(router, 2000, rates={KZ: 0.55, UZ: 0.92})
    before = dict(shares(router))

    for is_enabled in (False, True):
        ProviderAccount.objects.filter(name=UZ).update(is_enabled=is_enabled)
        account_shares.follow_accounts(router, account_shares.groups())

    assert shares(router) == before


def test_state_survives_a_restart() -> None:
    router = Router({})
    account_shares.follow_accounts(router, account_shares.groups())
    record_sends(router, 500, rates={KZ: 0.55, UZ: 0.92})

    restored = learned_router.decode(learned_router.encode(router, 15_000.0))

    assert restored.accounts[SAME].configured_shares == router.accounts[SAME].configured_shares
    assert shares(restored) == pytest.approx(shares(router))
    account_shares.follow_accounts(restored, account_shares.groups())
    assert shares(restored) == pytest.approx(
        shares(router)
    )  # nothing has changed, so nothing is lost


def test_code_is_recorded_once_for_its_account() -> None:
    company = CompanyFactory.create()
    begin()
    tried(company, {"channel": "sms", "provider": KZ, "delivered": 3.0}, entered_after=12.0)
    tried(company, {"channel": "sms", "provider": KZ, "fault": True}, phone="+79161234568")
    tried(
        company,
        {"channel": "sms", "provider": KZ, "fault": True},
        {"channel": "sms", "provider": UZ, "after": 1.0, "delivered": 5.0},
        phone="+79161234570",
        entered_after=12.0,
    )
    tried(
        company,
        {"channel": "sms", "provider": UZ, "delivered": 40.0},
        {"channel": "voice", "provider": "zvonok", "after": 20.0, "delivered": 25.0},
        phone="+79161234569",
        entered_after=35.0,
    )

    tried(  # back at the first account, which brings it after all
        company,
        {"channel": "sms", "provider": KZ, "fault": True},
        {"channel": "sms", "provider": UZ, "after": 1.0, "fault": True},
        {"channel": "sms", "provider": KZ, "after": 2.0, "delivered": 5.0},
        phone="+79161234571",
        entered_after=12.0,
    )

    route_learning.learn()
    route_learning.learn()

    counts = learned_router.decode(RouterState.objects.get().state).accounts[SAME].counts
    assert {name: (round(count.hits), round(count.trials)) for name, count in counts.items()} == {
        KZ: (2, 4),  # its faults are its own, also where another account took over
        UZ: (1, 3),  # the other code was entered once another channel was asked
    }
