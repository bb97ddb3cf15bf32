"""A server waits 2.5 seconds for our response, all of the call's own time included."""

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from django.db import transaction

from accounts.models import Company
from channels.models import Message
from identity_hooks import receive
from identity_hooks.models import Hook
from tests.api.blocking import start_blocked
from tests.identity_hooks.calls import body_of, make_hook, send, simulated

HELD_UP = 1.0  # seconds


@pytest.mark.django_db(transaction=True)
def test_vendor_is_awaited_for_less_time_after_a_slow_start(company: Company) -> None:
    hook = make_hook(company, "logto")
    started = time.monotonic()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Hook.objects.select_for_update().get(pk=hook.pk)
            running = start_blocked(pool, partial(send, hook, simulated(hook)))
            time.sleep(HELD_UP)
        response = running.result()

    assert receive.WAIT <= time.monotonic() - started < receive.WAIT + HELD_UP
    assert (body_of(response)["status"], Message.objects.get().state) == ("queued", "queued")
