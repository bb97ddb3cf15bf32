"""Top-ups by every provider, which misbehaves; and processes killed between webhook and credit."""

import os
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from functools import partial

import pytest
from django.db import connection, transaction
from django.utils import timezone

from billing.models import Order, Seller, StatementMark, Tariff, Wallet
from billing.orders import refunds
from tests.api.blocking import waiting
from tests.factories import SellerFactory, TariffFactory
from tests.stack.payer import TOKENS, Payer
from tests.stack.programs import wait_until
from tests.stack.stack import Stack

PROVIDERS = ["stripe", "yookassa", "tbank"]
UNAVAILABLE = 503
SEED = int(os.environ.get("PAYMENT_KILLS_SEED", "1"))
ROUNDS = int(os.environ.get("PAYMENT_KILLS", "6"))


@pytest.fixture
def shop(stack: Stack) -> Stack:
    """The stack, which sells tokens."""
    Seller.objects.exists() or SellerFactory.create()
    Tariff.objects.exists() or TariffFactory.create()
    return stack


@pytest.fixture(params=PROVIDERS)
def payer(shop: Stack, request: pytest.FixtureRequest) -> Payer:
    return Payer(shop, request.param)


def paid(shop: Stack, gateway: str, how: str) -> Payer:
    payer = Payer(shop, gateway)
    assert payer.place().ok
    payer.act("pay", how=how)
    return payer


def gains(payer: Payer, tokens: int, *problems: str, seconds: float = 25.0) -> None:
    def facts() -> tuple[int, list[str]]:
        return payer.gained, payer.problems

    wait_until(lambda: facts() == (tokens, list(problems)), seconds, on_timeout=facts)


def test_every_way_to_be_notified_credits_once(shop: Stack, payer: Payer) -> None:
    gateway = payer.gateway
    unnoticed = paid(shop, gateway, "never")
    Order.objects.filter(company=unnoticed.company).update(
        created_at=timezone.now() - timedelta(minutes=2)
    )
    told = [paid(shop, gateway, how) for how in ("before_redirect", "twice", "after_redirect")]

    for payment in told:
        gains(payment, TOKENS)
        payment.act("notify")
        gains(payment, TOKENS)
    gains(unnoticed, TOKENS, seconds=60)


def test_refund_takes_its_share_whenever_it_arrives(shop: Stack, payer: Payer) -> None:
    early = paid(shop, payer.gateway, "reordered")
    half = paid(shop, payer.gateway, "before_redirect")
    gains(half, TOKENS)

    half.act("refund", amount=str(half.order.amount / 2))

    gains(half, TOKENS // 2)
    gains(early, 0)


def test_failing_provider_opens_one_payment(payer: Payer) -> None:
    payer.set_fault("server_error")
    refused = payer.place()
    payer.set_fault("slow", latency_ms=500)
    placed = payer.place()

    assert (refused.status_code, placed.ok) == (UNAVAILABLE, True)
    payer.act("pay")
    gains(payer, TOKENS)


def test_lost_answer_of_the_provider_opens_no_second_payment(payer: Payer) -> None:
    payer.set_fault("lost_answer", latency_ms=100)

    refused = payer.place()
    placed = payer.place()

    assert (refused.status_code, placed.ok) == (UNAVAILABLE, True)
    payer.act("pay")
    gains(payer, TOKENS)


@contextmanager
def held_up(payer: Payer, place: str) -> Iterator[None]:
    """The process that credits this order waits at one place between the webhook and the credit."""
    with transaction.atomic():
        match place:
            case "gateway":
                refunds.lock_gateway(payer.gateway)
            case "order":
                Order.objects.select_for_update().get(pk=payer.order.pk)
            case "wallet":
                Wallet.objects.select_for_update().get(company=payer.company)
        yield


@pytest.mark.long
def test_killed_processes_credit_exactly_once(shop: Stack, threads: ThreadPoolExecutor) -> None:
    chance = random.Random(SEED)  # noqa: S311 - chooses where to kill
    payers = []
    for number in range(ROUNDS):
        payer = Payer(shop, [*PROVIDERS, "invoice"][number % 4])
        assert payer.place().ok
        payers.append(payer)
        kill_while_it_is_credited(payer, chance.choice(["gateway", "order", "wallet"]), threads)
    for payer in payers:
        gains(payer, TOKENS, seconds=60)
        if payer.gateway != "invoice":
            payer.act("notify")
    for payer in payers:
        gains(payer, TOKENS)


def kill_while_it_is_credited(payer: Payer, place: str, threads: ThreadPoolExecutor) -> None:
    """SIGKILL web and worker while the credit waits for us, then start them again."""
    pays: Callable[[], None] = partial(payer.act, "pay")
    if payer.gateway == "invoice":
        facts = {"amount": str(payer.order.amount)}
        facts["purpose"] = f"Оплата по счёту № {payer.order.number}"
        pays = partial(payer.transfer_of, facts)
    programs = (payer.stack.web, payer.stack.worker)
    with held_up(payer, place):
        running = threads.submit(pays)
        wait_until(lambda: bool(waiting()), on_timeout=lambda: (payer.gateway, place))
        for program in programs:
            program.kill()
        assert payer.gained == 0
    for program in programs:
        program.launch()
    for program in programs:
        program.wait_ready()
    running.result()
    StatementMark.objects.update(tried_at=timezone.now() - timedelta(minutes=2))
    connection.close_if_unusable_or_obsolete()
