"""Idempotency keys without the send limits, which otherwise stop most duplicates first."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
import pytest
from django.db import transaction

from accounts.api import idempotency
from accounts.models import IdempotentRequest
from billing.wallet import ledger
from channels.models import Message
from links.models import Link
from tests.api.blocking import behind_us
from tests.api.clients import Api
from tests.otp.sent_codes import wrong_code

PHONE = "+79161234567"
URL = "https://example.com/"
CALLS: dict[str, dict[str, Any]] = {
    "/otp/send": {"phone": PHONE, "link": URL},
    "/links/send": {"phone": PHONE, "url": URL},
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", CALLS)
def test_key_and_effect_are_one_commit(api: Api, path: str) -> None:
    """The look-up misses an uncommitted duplicate; only the unique index sees it."""
    canonical = orjson.dumps(CALLS[path], option=orjson.OPT_SORT_KEYS)
    digest = hashlib.sha256(canonical).digest()
    duplicate = idempotency.IdempotencyKey(api.company.pk, "live", path, "k", digest)

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            idempotency.insert(duplicate)
            late = behind_us(pool, lambda: api.post(path, CALLS[path], Idempotency_Key="k"))
        answer = late.result()

    assert (answer.status, answer.code) == (409, "request_in_progress")
    assert Message.objects.count() == Link.objects.count() == 0
    assert ledger.balance(api.company.pk) == (1000, 0)


def test_unstored_refusal_leaves_no_idempotency_key(api: Api) -> None:
    """The key is written before the effect, and goes with it."""
    api.post("/otp/send", {"phone": PHONE})
    guess = {"phone": PHONE, "code": wrong_code(PHONE)}
    for _ in range(5):
        api.post("/otp/verify", guess)

    answers = [api.post("/otp/verify", guess, Idempotency_Key="k") for _ in range(2)]

    assert [answer.code for answer in answers] == ["too_many_attempts"] * 2
    assert not IdempotentRequest.objects.exists()
