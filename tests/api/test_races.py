"""Requests with one idempotency key that arrive at once take effect once."""

import time
from collections import Counter
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from api.models import IdempotentRequest
from billing.models import Transfer
from billing.wallet import ledger
from channels.deliver.dispatcher import Dispatcher
from channels.models import Message
from links.models import Link
from otp.models import Verification
from tests.api.clients import Api, ApiResponse, ClientOf
from tests.api.races import at_once
from tests.factories import CompanyFactory, LinkFactory
from tests.otp.sent_codes import code_of, wrong_code

pytestmark = pytest.mark.django_db(transaction=True)

PHONE = "+79161234567"
URL = "https://example.com/"
ROUNDS = range(2)
SENDS: dict[str, dict[str, Any]] = {
    "/otp/send": {"phone": PHONE, "link": URL},
    "/links/send": {"phone": PHONE, "url": URL},
}


def parallel_duplicates(
    api: Api, path: str, payload: dict[str, Any], count: int = 20
) -> list[ApiResponse]:
    return at_once([lambda: api.post(path, payload, Idempotency_Key="k")] * count)


def check_duplicates(responses: list[ApiResponse]) -> None:
    """All successful responses are identical; the others say that the request is in progress."""
    assert {response.status for response in responses} <= {200, 409}
    assert len({response.raw for response in responses if response.status == 200}) == 1
    assert {response.code for response in responses if response.status == 409} <= {
        "request_in_progress"
    }
    first = [response for response in responses if "Idempotent-Replayed" not in response.headers]
    assert len([response for response in first if response.status == 200]) <= 1


@pytest.mark.parametrize("round_number", ROUNDS)
@pytest.mark.parametrize("path", SENDS)
def test_parallel_sends_with_one_key_send_once(api: Api, path: str, round_number: int) -> None:
    responses = parallel_duplicates(api, path, SENDS[path])

    check_duplicates(responses)
    assert Message.objects.count() == Link.objects.count() == 1
    assert Transfer.objects.filter(kind="hold").count() == IdempotentRequest.objects.count() == 1
    assert ledger.balance(api.company.pk) == (999, 1)
    after = api.post(path, SENDS[path], Idempotency_Key="k")
    assert after.raw in {response.raw for response in responses if response.status == 200}
    if path == "/otp/send":
        assert api.post(path, {"phone": PHONE, "purpose": "x"}).code == "resend_too_soon"


@pytest.mark.parametrize("path", SENDS)
def test_parallel_sends_with_one_key_during_delivery(
    dispatcher: Dispatcher, test_api: Api, path: str
) -> None:
    """One waits for the outcome, and another may see it first: they must not disagree."""
    responses = parallel_duplicates(test_api, path, SENDS[path], 8)

    check_duplicates(responses)
    after = test_api.post(path, SENDS[path], Idempotency_Key="k")
    assert {after.raw} == {response.raw for response in responses if response.status == 200}
    assert Message.objects.count() == 1


@pytest.mark.parametrize("path", SENDS)
def test_slow_request_returns_the_response_of_its_faster_duplicate(
    dispatcher: Dispatcher, api: Api, settings: Settings, path: str
) -> None:
    dispatcher.stop()
    settings.SEND_WAIT = 1.5

    def call() -> ApiResponse:
        return api.post(path, SENDS[path], Idempotency_Key="k")

    def duplicate() -> ApiResponse:
        while not Message.objects.exists():
            time.sleep(0.01)
        Message.objects.update(state="sent")
        return call()

    slow, quick = at_once([call, duplicate])

    assert (slow.status, slow.body["status"]) == (200, "sent")
    assert slow.raw == quick.raw
    assert quick.headers["Idempotent-Replayed"] == "true"


@pytest.mark.parametrize("path", SENDS)
def test_parallel_sends_with_one_key_count_once_towards_limits(api: Api, path: str) -> None:
    for number in range(4):
        api.post("/links/send", {"phone": PHONE, "url": URL}, Idempotency_Key=str(number))

    responses = parallel_duplicates(api, "/links/send", {"phone": PHONE, "url": URL, "text": path})
    check_duplicates(responses)

    assert Message.objects.count() == 5
    refused = api.post("/links/send", {"phone": PHONE, "url": URL})
    assert (refused.status, refused.code) == (429, "send_limit")


@pytest.mark.parametrize("round_number", ROUNDS)
def test_parallel_sends_with_one_key_without_redis(
    api: Api, no_redis: None, round_number: int
) -> None:
    check_duplicates(parallel_duplicates(api, "/otp/send", SENDS["/otp/send"]))

    assert Message.objects.count() == 1
    assert ledger.balance(api.company.pk) == (999, 1)


@pytest.mark.parametrize("round_number", ROUNDS)
@pytest.mark.parametrize("alias", [None, "Sale"])
def test_parallel_shortens_with_one_key_create_one_link(
    api: Api, alias: str | None, round_number: int
) -> None:
    payload = {"url": URL, "alias": alias, "expires_in": 600}

    check_duplicates(parallel_duplicates(api, "/links/shorten", payload))

    assert Link.objects.count() == IdempotentRequest.objects.count() == 1


@pytest.mark.parametrize("round_number", ROUNDS)
def test_parallel_checks_of_a_correct_code_with_one_key_succeed_once(
    api: Api, round_number: int
) -> None:
    api.post("/otp/send", {"phone": PHONE})

    responses = parallel_duplicates(api, "/otp/verify", {"phone": PHONE, "code": code_of(PHONE)})

    check_duplicates(responses)
    assert Verification.objects.get().attempts == 1


@pytest.mark.parametrize("round_number", ROUNDS)
def test_parallel_checks_of_a_wrong_code_with_one_key_spend_one_attempt(
    api: Api, round_number: int
) -> None:
    api.post("/otp/send", {"phone": PHONE})

    responses = parallel_duplicates(api, "/otp/verify", {"phone": PHONE, "code": wrong_code(PHONE)})

    assert {response.code for response in responses} <= {"code_invalid", "request_in_progress"}
    assert len({response.raw for response in responses if response.status == 422}) == 1
    assert Verification.objects.get().attempts == 1


@pytest.mark.parametrize("round_number", ROUNDS)
@pytest.mark.parametrize("path", ["/links/shorten", "/links/send"])
def test_parallel_requests_get_an_alias_once(api: Api, path: str, round_number: int) -> None:
    spellings = ["sale", "Sale", "SALE", "sALe"] * 5

    responses = at_once(
        [
            partial(api.post, path, {"url": URL, "alias": alias, "phone": f"+7916{n:07d}"})
            for n, alias in enumerate(spellings)
        ]
    )

    assert sorted(response.status for response in responses) == [200] + [422] * 19
    assert {response.code for response in responses if response.status == 422} == {"alias_taken"}
    assert Link.objects.count() == 1
    assert Message.objects.count() == (path == "/links/send")
    assert ledger.balance(api.company.pk)[0] == 1000 - Message.objects.count()


HUNDRED = 100
COMPANIES = 10


@pytest.mark.parametrize("path", ["/links/shorten", "/links/bulk"])
def test_one_of_a_hundred_companies_gets_the_alias(client_of: ClientOf, path: str) -> None:
    apis = [client_of(CompanyFactory.create()) for _ in range(COMPANIES)]
    wanted = {"url": URL, "alias": "Best-Offer"}
    payload = {"links": [wanted]} if path.endswith("bulk") else wanted

    responses = at_once([partial(apis[n % COMPANIES].post, path, payload) for n in range(HUNDRED)])

    results = [response.body.get("data", [response.body])[0] for response in responses]
    codes = Counter(result.get("code", "made") for result in results)
    assert codes == {"made": 1, "alias_taken": HUNDRED - 1}
    assert {response.status for response in responses} <= {200, 422}
    assert Link.objects.count() == 1


def test_one_of_a_hundred_requests_gets_the_alias_of_an_expired_link(client_of: ClientOf) -> None:
    apis = [client_of(CompanyFactory.create()) for _ in range(COMPANIES)]
    LinkFactory.create(slug="sale", is_alias=True, disabled_at=timezone.now() - timedelta(days=91))

    responses = at_once(
        [
            partial(apis[n % COMPANIES].post, "/links/shorten", {"url": URL, "alias": "sale"})
            for n in range(HUNDRED)
        ]
    )

    codes = Counter(response.body.get("code", "made") for response in responses)
    assert codes == {"made": 1, "alias_taken": HUNDRED - 1}
    assert Link.objects.filter(retired_at=None).count() == 1
