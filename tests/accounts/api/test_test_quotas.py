"""Test keys, which cost nothing, have daily quotas."""

from collections import Counter
from functools import partial

import pytest
from pytest_django import Settings

from accounts.models import CacheEntry
from channels.models import Message
from links.models import Link
from tests.api.clients import Answer, Api, ClientOf
from tests.api.races import at_once
from tests.factories import CompanyFactory

URL = "https://example.com/"
PHONE = "+7916123{:04d}"


@pytest.fixture(autouse=True)
def quotas(settings: Settings) -> None:
    settings.TEST_QUOTAS = {"links": 10, "messages": 4}


def bulk(api: Api, count: int) -> Answer:
    return api.post("/links/bulk", {"links": [{"url": f"{URL}{n}"} for n in range(count)]})


def assert_refused(answer: Answer, word: str) -> None:
    assert (answer.status, answer.code) == (429, "rate_limited")
    assert word in answer.body["message"]
    assert 1 <= answer.body["retry_after"] <= 86_401
    assert answer.headers["Retry-After"] == str(answer.body["retry_after"])


@pytest.mark.django_db
def test_links_in_bulk(test_api: Api) -> None:
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
def test_messages(test_api: Api) -> None:
    sent = [test_api.post("/otp/send", {"phone": PHONE.format(5000 + n)}) for n in range(4)]

    assert {one.status for one in sent} == {200}
    assert_refused(test_api.post("/otp/send", {"phone": PHONE.format(5005)}), "4 сообщений")
    assert_refused(test_api.post("/links/send", {"phone": PHONE.format(5006), "url": URL}), "4")
    assert Message.objects.count() == 4


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
    answers = [test_api.post("/links/bulk", payload, Idempotency_Key="k") for _ in range(3)]

    assert {one.raw for one in answers} == {answers[0].raw}
    assert bulk(test_api, 4).status == 200


@pytest.mark.django_db(transaction=True)
def test_quota_is_exact_under_parallel_requests(test_api: Api) -> None:
    answers = at_once([partial(bulk, test_api, 3) for _ in range(12)])

    assert Counter(one.status for one in answers) == {200: 3, 429: 9}
    assert Link.objects.count() == 9


@pytest.mark.django_db
def test_quota_holds_without_redis(test_api: Api, no_redis: None) -> None:
    bulk(test_api, 10)

    assert_refused(bulk(test_api, 1), "ссылок")
