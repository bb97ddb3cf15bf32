"""The pool of sends to one phone over all companies, and each company's reserve."""

from collections import Counter
from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from accounts.keys.principal import CompanyLimits
from accounts.models import Company
from catalogue.errors import DomainError
from channels.accept import send_limits
from channels.models import Message
from storage.atomic_limits import (
    GRANTED,
    POOL_EMPTY,
    Bucket,
    LimiterDownError,
    LimitResult,
    Pool,
    Window,
    acquire,
    seconds_until_granted,
)
from storage.redis_client import redis_client
from tests.api.clients import Api, ApiResponse, ClientOf
from tests.api.races import at_once
from tests.factories import CompanyFactory, MessageFactory

pytestmark = pytest.mark.django_db

PHONE = "+79161234567"
PLACE = 4320  # seconds that one place of twenty a day takes to come back
MAX_SETTINGS = {
    "cool_down": 30,
    "codes_per_10_min": 30,
    "codes_per_hour": 30,
    "codes_per_day": 30,
    "links_per_10_min": 30,
    "links_per_day": 30,
}


def post(api: Api, kind: str = "code") -> ApiResponse:
    path = "/otp/send" if kind == "code" else "/links/send"
    return api.post(path, {"phone": PHONE, "url": "https://example.com/"})


def sent_to_phone(company: Company, count: int, kind: str = "code") -> None:
    """Stores recent sends that only the pool counts: as rows, and in Redis where it answers."""
    message = MessageFactory.build(company=company, kind=kind, phone=PHONE)
    day = send_limits._windows(message)[-1:]
    before = Message.objects.count()
    for number in range(before, before + count):
        at = timezone.now() - timedelta(minutes=20) + timedelta(seconds=number)
        row = MessageFactory.create(
            company=company, kind=kind, phone=PHONE, state="sent", created_at=at
        )
        try:
            acquire(day, pool=send_limits._pool(message), holder=f"{row.pk.hex}:")
        except LimiterDownError:
            continue


def empty_pool(kind: str = "code") -> list[Company]:
    """Takes all twenty places by two companies, each within its own limits."""
    companies = [CompanyFactory.create() for _ in range(2)]
    for company in companies:
        sent_to_phone(company, 11 if company is companies[0] else 9, kind)
    return companies


@pytest.mark.usefixtures("store")
class TestBothStores:
    def test_raised_limits_of_one_company_leave_codes_to_others(
        self, client_of: ClientOf, company: Company
    ) -> None:
        greedy = CompanyFactory.create(**MAX_SETTINGS)

        sent_to_phone(greedy, 20)

        assert [refused(greedy)["limit"] for _ in range(2)] == [{"kind": "phone"}] * 2
        assert post(client_of(company)).status == 200

    @pytest.mark.parametrize("pair_and_more", [2, 3])
    def test_colluding_companies_cannot_take_the_first_codes_of_another(
        self, pair_and_more: int, client_of: ClientOf, company: Company
    ) -> None:
        empty_pool()
        if pair_and_more > 2:
            sent_to_phone(CompanyFactory.create(), 2)

        assert post(client_of(company)).status == 200

    def test_company_past_reserve_waits_for_refill(self) -> None:
        first, _second = empty_pool()

        refusal = refused(first)

        assert refusal["limit"] == {"kind": "phone_all_companies"}
        assert 0 < int(str(refusal["retry_after"])) <= PLACE

    def test_links_do_not_delay_codes(self, api: Api) -> None:
        empty_pool("link")
        for _ in range(5):
            sent_to_phone(CompanyFactory.create(), 2, "link")

        link = post(api, "link")

        assert (link.status, link.code) == (429, "send_limit")
        assert link.body["limit"] == {"kind": "phone_all_companies"}
        assert link.body["retry_after"] <= PLACE
        assert link.headers["Retry-After"] == str(link.body["retry_after"])
        assert post(api).status == 200

    def test_emptied_reserve_refuses_the_next_company(self, api: Api) -> None:
        empty_pool()
        for _ in range(5):
            sent_to_phone(CompanyFactory.create(), 2)

        response = post(api)

        assert (response.status, response.code) == (429, "send_limit")
        assert response.body["retry_after"] <= PLACE

    def test_company_limit_cannot_exceed_the_limit_of_a_phone(self, company: Company) -> None:
        Company.objects.filter(pk=company.pk).update(**MAX_SETTINGS)
        sent_to_phone(company, 20)

        assert refused(Company.objects.get(pk=company.pk))["limit"] == {"kind": "phone"}


def refused(company: Company, kind: str = "code") -> dict[str, object]:
    """Returns the body of the refusal of the company's next send, whatever its other limits."""
    own = CompanyLimits(30, 30, 30, company.codes_per_day, 30, company.links_per_day)
    send = send_limits.Send(uuid4(), company.pk, "live", kind, PHONE, own)
    with pytest.raises(DomainError) as caught, send_limits.acquire(send):
        pass
    return caught.value.body(request_id="r")


def a_pool(places: int = 4, reserve: int = 2, reserved_sends: int = 1) -> Pool:
    name = uuid4().hex
    return Pool(Bucket(f"p{name}", places, 40), Bucket(f"r{name}", reserve, 40), reserved_sends)


def by(company: str) -> list[Window]:
    return [Window(f"w:{company}:{uuid4()}", 100, 86_400)]


def test_wait_is_the_time_to_the_next_refill() -> None:
    pool = a_pool(reserved_sends=0)
    own = by("a")
    for _ in range(4):
        assert acquire(own, pool=pool).outcome == GRANTED

    assert acquire(own, pool=pool) == LimitResult(POOL_EMPTY, 10)
    pass_time(pool.shared, 4)
    assert acquire(own, pool=pool) == LimitResult(POOL_EMPTY, 6)
    pass_time(pool.shared, 6)
    assert acquire(own, pool=pool).outcome == GRANTED
    assert acquire(own, pool=pool).outcome == POOL_EMPTY


def pass_time(bucket: Bucket, seconds: int) -> None:
    full_at = int(redis_client().get(bucket.key) or 0)
    redis_client().set(bucket.key, full_at - seconds * 1000 - 20, px=40_000)


def test_reserve_serves_first_sends_of_each_company() -> None:
    pool = a_pool()
    first = by("a")
    second = by("b")
    third = by("c")
    for _ in range(4):
        acquire(first, pool=pool)

    assert acquire(first, pool=pool).outcome == POOL_EMPTY
    assert [acquire(second, pool=pool).outcome for _ in range(2)] == [GRANTED, POOL_EMPTY]
    assert acquire(third, pool=pool).outcome == GRANTED
    assert acquire(by("d"), pool=pool).outcome == POOL_EMPTY


def test_parallel_sends_get_exactly_the_pool_and_the_reserve() -> None:
    pool = a_pool(places=7, reserve=5)
    greedy = by("a")

    taken = at_once([lambda: acquire(greedy, pool=pool)] * 20)
    others = at_once([lambda: acquire(by("x"), pool=pool)] * 20)

    assert Counter(draw.outcome for draw in taken) == {GRANTED: 7, POOL_EMPTY: 13}
    assert Counter(draw.outcome for draw in others) == {GRANTED: 5, POOL_EMPTY: 15}


def test_release_refills_its_own_bucket(company: Company) -> None:
    empty_pool()
    send = send_limits.Send(uuid4(), company.pk, "live", "code", PHONE)
    with send_limits.acquire(send):
        pass
    pool = send_limits._pool(send)
    assert pool
    shared = redis_client().get(pool.shared.key)
    assert redis_client().get(pool.reserve.key)

    send_limits.release(send)

    assert redis_client().get(pool.reserve.key) is None
    assert redis_client().get(pool.shared.key) == shared
    send_limits.release(send)
    assert redis_client().get(pool.shared.key) != shared


def test_wait_counts_the_pool_and_takes_nothing() -> None:
    pool = a_pool()
    first = by("a")
    second = by("b")

    def announced_wait(windows: list[Window]) -> int:
        return seconds_until_granted(windows, cool_down="cool:none", pool=pool)

    assert announced_wait(first) == 0
    for _ in range(4):
        assert acquire(first, pool=pool).outcome == GRANTED
    assert (announced_wait(first), announced_wait(second)) == (10, 0)

    pass_time(pool.shared, 4)
    assert announced_wait(first) == 6

    pass_time(pool.shared, 6)
    assert announced_wait(first) == 0
    assert acquire(first, pool=pool).outcome == GRANTED
    assert acquire(first, pool=pool).outcome == POOL_EMPTY


@pytest.mark.usefixtures("store")
def test_retry_after_matches_the_pool() -> None:
    first, _second = empty_pool()
    own = CompanyLimits(30, 30, 30, first.codes_per_day, 30, first.links_per_day)
    send = send_limits.Send(uuid4(), first.pk, "live", "code", PHONE, own)

    announced_wait = send_limits.seconds_until_allowed(send)

    assert announced_wait - int(str(refused(first)["retry_after"])) in {0, 1}
