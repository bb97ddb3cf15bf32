"""A provider that hangs holds one thread of a worker: e-mails and alerts need the others."""

import json
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
import responses
from django.utils import timezone

from accounts.models import Company
from billing.models import Order
from billing.tasks import call_payment_providers, top_up_automatically
from tests.api.blocking import on_own_connection
from tests.billing.gateways.vendors import StripeVendor, YooKassaVendor
from tests.billing.orders.automatic import YOOKASSA, agree, save, yookassa_payment
from tests.billing.top_ups import place_order
from tests.factories import CompanyFactory, MemberFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("wire")]


class HangingProvider:
    """Answers once it is released."""

    def __init__(self) -> None:
        self.is_called = threading.Event()
        self.is_released = threading.Event()

    def __call__(self, request: Any) -> tuple[int, dict[str, str], str]:
        self.is_called.set()
        self.is_released.wait(20)
        order_id = request.headers.get("Idempotence-Key") or request.url.rpartition("/")[2]
        return 200, {}, json.dumps(yookassa_payment(order_id, id=order_id))


def agree_to_charges(company: Company) -> None:
    agree(company, "yookassa")
    save(company, "yookassa")


def open_order(company: Company, *, saves_method: bool = False) -> Order:
    YooKassaVendor().opens("replaced")
    order = place_order(company, "yookassa", saves_method=saves_method)
    order.payment_id = order.pk.hex
    order.created_at = timezone.now() - timedelta(minutes=2)
    order.save()
    return order


def pay_and_save(company: Company) -> None:
    order = open_order(company, saves_method=True)
    order.mark_paid()


@pytest.mark.parametrize("start", [agree_to_charges, open_order, pay_and_save])
@pytest.mark.usefixtures("package")
def test_hanging_provider_holds_one_thread_of_a_worker(start: Callable[[Company], object]) -> None:
    provider = HangingProvider()
    for member in MemberFactory.create_batch(3):
        start(member.company)
    responses.add_callback("POST", YOOKASSA, provider)
    for order in Order.objects.all():
        responses.add_callback("GET", f"{YOOKASSA}/{order.pk.hex}", provider)

    with ThreadPoolExecutor() as pool:
        first = pool.submit(on_own_connection, top_up_automatically)
        provider.is_called.wait(20)
        others = [
            pool.submit(on_own_connection, task)
            for task in (top_up_automatically, call_payment_providers)
        ]
        wait(others, 10)
        is_free = all(task.done() for task in others)
        is_hanging = not first.done()
        provider.is_released.set()

    assert (is_free, is_hanging) == (True, True)


def test_provider_that_hangs_leaves_the_others_their_share() -> None:
    calls: list[str] = []

    def respond(request: Any, seconds: float) -> tuple[int, dict[str, str], str]:
        time.sleep(seconds)
        calls.append(request.url.split("/")[2])
        return 503, {}, ""

    for vendor, seconds in ((YooKassaVendor(), 0.5), (StripeVendor(), 0)):
        for number in range(4):
            vendor.opens(f"{vendor.name}-{number}")
            vendor.place(CompanyFactory.create())
        pattern = re.compile(f"{vendor.url}/.*{vendor.name}-")
        responses.add_callback("GET", pattern, partial(respond, seconds=seconds))
    Order.objects.update(created_at=timezone.now() - timedelta(minutes=2))

    call_payment_providers()

    last_healthy = 7 - calls[::-1].index("api.stripe.com")
    assert calls[:last_healthy].count("api.yookassa.ru") <= 1
