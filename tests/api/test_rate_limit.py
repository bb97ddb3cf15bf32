"""The API's rate limit per key: exact over all processes, with few calls to Redis."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import time_machine
from pytest_django import Settings

from accounts.keys import api_keys
from accounts.keys.principal import Principal
from accounts.models import CacheEntry
from api import rate_limit
from api.calls import Call
from api.models import IdempotentRequest
from api.rate_limit import KeyRateLimiter
from api_docs.calls import CALLS
from channels.models import Message
from links.models import Link
from storage import redis_client
from storage.redis_client import Command
from tests.api.calling import perform
from tests.api.clients import Api, ApiResponse, ClientOf
from tests.api.races import at_once
from tests.factories import ApiKeyFactory, CompanyFactory

NOON = 1_790_000_000  # some whole second

URL = "https://example.com/"
PHONE = "+7916123{:04d}"
CHANGES = [call for call in CALLS if call.method in {"PATCH", "DELETE"}]


@pytest.fixture
def clock() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(NOON, tick=False) as traveller:
        yield traveller


@pytest.fixture
def counters(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The Redis keys that were counted up."""
    seen: list[str] = []

    def call_together(*commands: Command) -> list[Any]:
        seen.append(str(commands[0][1]))
        return redis_client.call_together(*commands)

    monkeypatch.setattr(rate_limit, "call_together", call_together)
    return seen


def principal(limit: int) -> Principal:
    key = ApiKeyFactory.create(company__api_rate=limit)
    result = api_keys.find(key.plaintext)
    assert result is not None
    return result


def passed(process: KeyRateLimiter, who: Principal, times: int) -> int:
    left = [process.count(who) for _ in range(times)]
    return sum(usage is not None and usage.left >= 0 for usage in left)


def begin_window(clock: time_machine.Traveller, who: Principal) -> None:
    """Travels to the start of a window, whose second depends on the key's id."""
    usage = KeyRateLimiter().count(who)
    assert usage is not None
    clock.shift(usage.wait)


@pytest.mark.parametrize("limit", [1, 7, 100, 101, 199, 1000, 1234])
def test_exactly_the_limit_passes(db: None, clock: object, limit: int) -> None:
    assert passed(KeyRateLimiter(), principal(limit), limit + 20) == limit


def test_lease_takes_a_hundredth_of_the_limit(db: None, clock: object, counters: list[str]) -> None:
    who = principal(1000)
    process = KeyRateLimiter()

    assert passed(process, who, 1500) == 1000

    assert len(counters) == 100
    assert len(set(counters)) == 1
    assert 0 < redis_client.call("TTL", counters[0]) <= 11


@pytest.mark.parametrize("limit", [5, 100, 1000])
def test_processes_share_the_limit(db: None, clock: object, limit: int) -> None:
    who = principal(limit)
    first = KeyRateLimiter()
    second = KeyRateLimiter()

    total = passed(first, who, limit // 2 + 1) + passed(second, who, limit) + passed(first, who, 5)

    assert limit - limit // 100 <= total <= limit


def test_threads_share_the_limit_exactly(db: None, clock: object) -> None:
    who = principal(1000)
    process = KeyRateLimiter()

    with ThreadPoolExecutor(16) as pool:
        counts = pool.map(lambda _n: passed(process, who, 100), range(16))

    assert sum(counts) == 1000


def test_next_window_starts_with_the_whole_limit(db: None, clock: time_machine.Traveller) -> None:
    who = principal(3)
    process = KeyRateLimiter()
    assert passed(process, who, 5) == 3

    begin_window(clock, who)

    assert passed(process, who, 5) == 3


def test_changed_limit_applies_at_once(db: None, clock: object) -> None:
    who = principal(2)
    process = KeyRateLimiter()
    assert passed(process, who, 5) == 2

    assert passed(process, replace(who, api_rate=5), 9) == 5


def test_redis_failure_disables_counting_and_backs_off(
    db: None, no_redis: None, counters: list[str]
) -> None:
    who = principal(1)
    process = KeyRateLimiter()

    assert [process.count(who) for _ in range(5)] == [None] * 5
    assert len(counters) == 1


def test_lease_that_arrives_in_the_next_window_is_not_used_there(
    db: None, clock: time_machine.Traveller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redis answers late: meanwhile another thread has begun the next window."""
    who = principal(3)
    process = KeyRateLimiter()
    begin_window(clock, who)
    seen: list[object] = []

    def call_together(*commands: Command) -> list[Any]:
        replies = redis_client.call_together(*commands)
        if not seen:
            seen.append(commands[0][1])
            clock.shift(10)
            assert passed(process, who, 1) == 1
        return replies

    monkeypatch.setattr(rate_limit, "call_together", call_together)

    assert passed(process, who, 5) == 2
    assert len(seen) == 1


def test_keys_begin_their_windows_at_different_seconds(db: None, clock: object) -> None:
    keys = [replace(principal(5), key_id=key_id) for key_id in range(10)]
    usages = [KeyRateLimiter().count(who) for who in keys]

    assert {usage.wait for usage in usages if usage} == set(range(1, 11))


@pytest.fixture(autouse=True)
def quotas(settings: Settings) -> None:
    settings.TEST_QUOTAS = {"links": 10, "messages": 4, "changes": 2, "keys": 3}


def bulk(api: Api, count: int) -> ApiResponse:
    return api.post("/links/bulk", {"links": [{"url": f"{URL}{n}"} for n in range(count)]})


def assert_refused(response: ApiResponse, word: str) -> None:
    assert (response.status, response.code) == (429, "rate_limited")
    assert word in response.body["message"]
    assert 1 <= response.body["retry_after"] <= 86_401
    assert response.headers["Retry-After"] == str(response.body["retry_after"])


@pytest.mark.django_db
def test_bulk_links_use_up_the_quota(test_api: Api) -> None:
    made = bulk(test_api, 8)
    refused = bulk(test_api, 3)
    rest = bulk(test_api, 2)

    assert (made.status, rest.status) == (200, 200)
    assert_refused(refused, "10 ссылок в сутки")
    assert Link.objects.count() == 10


@pytest.mark.django_db
def test_links_by_every_call_share_the_quota(test_api: Api) -> None:
    bulk(test_api, 8)
    code = test_api.post("/otp/send", {"phone": PHONE.format(1234), "link": URL})
    link = test_api.post("/links/send", {"phone": PHONE.format(1235), "url": URL})

    assert (code.status, link.status) == (200, 200)
    assert_refused(test_api.post("/links/shorten", {"url": URL}), "ссылок")
    assert_refused(test_api.post("/otp/send", {"phone": PHONE.format(1236), "link": URL}), "ссылок")
    assert_refused(
        test_api.post("/links/send", {"phone": PHONE.format(1237), "url": URL}), "ссылок"
    )
    assert Link.objects.count() == 10
    assert Message.objects.count() == 2


@pytest.mark.django_db
def test_messages_of_test_keys_are_limited_a_day(test_api: Api) -> None:
    sent = [test_api.post("/otp/send", {"phone": PHONE.format(5000 + n)}) for n in range(4)]

    assert {response.status for response in sent} == {200}
    assert_refused(test_api.post("/otp/send", {"phone": PHONE.format(5005)}), "4 сообщений")
    assert_refused(test_api.post("/links/send", {"phone": PHONE.format(5006), "url": URL}), "4")
    assert Message.objects.count() == 4


@pytest.mark.django_db
def test_keys_of_refused_calls_use_up_the_quota(test_api: Api) -> None:
    """Their responses are stored, and nothing else limits their number."""
    guesses = [
        test_api.post(
            "/otp/verify", {"phone": PHONE.format(n), "code": "123456"}, Idempotency_Key=str(n)
        )
        for n in (1000, 1001, 1002, 1000, 1003)
    ]

    assert [guess.code for guess in guesses[:4]] == ["code_not_found"] * 4
    assert_refused(guesses[4], "3 значений Idempotency-Key")
    assert IdempotentRequest.objects.count() == 3


@pytest.mark.django_db
def test_keys_count_the_kilobytes_of_their_responses(test_api: Api, api: Api) -> None:
    """A call without an effect stores a response too: a thousand links, each refused."""
    payload = {"links": [{"url": "x"}] * 40}
    refused, small = (
        test_api.post("/links/bulk", links, Idempotency_Key=key)
        for links, key in ((payload, "a"), ({"links": [{"url": "x"}]}, "b"))
    )

    assert_refused(refused, "3 значений Idempotency-Key")
    assert small.status == 200
    assert list(IdempotentRequest.objects.values_list("key", flat=True)) == ["b"]
    assert api.post("/links/bulk", payload, Idempotency_Key="a").status == 200


@pytest.mark.django_db
@pytest.mark.parametrize("call", CHANGES, ids=lambda call: str(call.name))
def test_changes_by_test_keys_are_limited_a_day(test_api: Api, api: Api, call: Call) -> None:
    """Each is in the audit log, whose rows are kept for ever."""
    link = test_api.post("/links/shorten", {"url": URL}).body["id"]
    for _ in range(2):
        assert test_api.call("PATCH", f"/links/{link}", b"{}").status == 200

    path = call.path.replace("{id}", link)
    assert_refused(test_api.call(call.method, path, b"{}"), "2 раз")
    assert api.call(call.method, path, b"{}").status == 404


@pytest.mark.django_db
@pytest.mark.usefixtures("price_list")
@pytest.mark.parametrize("call", CALLS, ids=lambda call: str(call.name))
def test_calls_that_are_audited_use_up_the_quota(
    settings: Settings, test_api: Api, call: Call
) -> None:
    settings.TEST_QUOTAS = dict.fromkeys(settings.TEST_QUOTAS, 100)

    perform(test_api, call)

    is_audited = test_api.company.audit.exists()
    used = CacheEntry.objects.filter(key__startswith="quota:test:changes:").exists()
    assert used or not is_audited


@pytest.mark.django_db
def test_quota_applies_per_company_and_to_test_keys_only(
    api: Api, test_api: Api, client_of: ClientOf
) -> None:
    bulk(test_api, 10)
    second = client_of(test_api.company, "test")
    other = client_of(CompanyFactory.create(), "test")

    assert_refused(bulk(second, 1), "ссылок")
    assert bulk(other, 10).status == 200
    assert bulk(api, 20).status == 200


@pytest.mark.django_db
def test_quota_resets_daily(test_api: Api) -> None:
    bulk(test_api, 10)
    (used,) = CacheEntry.objects.filter(key__startswith="quota:")
    CacheEntry.objects.filter(pk=used.pk).update(key=used.key[:-8] + "20200101")

    assert bulk(test_api, 10).status == 200


@pytest.mark.django_db
def test_repeat_of_a_call_counts_once(test_api: Api) -> None:
    payload = {"links": [{"url": URL}] * 6}
    responses = [test_api.post("/links/bulk", payload, Idempotency_Key="k") for _ in range(3)]

    assert {response.raw for response in responses} == {responses[0].raw}
    assert bulk(test_api, 4).status == 200


@pytest.mark.django_db(transaction=True)
def test_quota_is_exact_under_parallel_requests(test_api: Api) -> None:
    responses = at_once([partial(bulk, test_api, 3) for _ in range(12)])

    assert Counter(response.status for response in responses) == {200: 3, 429: 9}
    assert Link.objects.count() == 9


@pytest.mark.django_db
def test_quota_holds_without_redis(test_api: Api, no_redis: None) -> None:
    bulk(test_api, 10)

    assert_refused(bulk(test_api, 1), "ссылок")
