"""Send limits per phone and company, counted by Redis and, without it, by PostgreSQL."""

from collections import Counter
from contextlib import suppress
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import IntegrityError, OperationalError
from django.utils import timezone

import storage.atomic_limits
from accounts.models import Company
from accounts.people import companies
from catalogue.errors import DomainError, Error
from channels.accept import send_limits
from channels.lifecycle.state_machine import EventKind
from channels.models import Message
from storage.atomic_limits import (
    COOLING_DOWN,
    DUPLICATE,
    GRANTED,
    LimiterDownError,
    LimitResult,
    Window,
    acquire,
)
from storage.redis_client import redis_client
from tests.api.clients import Api, ApiResponse, ClientOf
from tests.api.races import at_once
from tests.channels.message_stages import apply_event, submitted
from tests.factories import (
    AttemptFactory,
    CompanyFactory,
    LinkFactory,
    MemberFactory,
    MessageFactory,
)
from tests.otp.sent_codes import forget_limits

PHONE = "+79161234567"
URL = "https://example.com/"


def send_code(api: Api, phone: str = PHONE, **fields: object) -> ApiResponse:
    return api.post("/otp/send", {"phone": phone} | fields)


def send_link(api: Api, phone: str = PHONE, **fields: object) -> ApiResponse:
    return api.post("/links/send", {"phone": phone, "url": URL} | fields)


def sent_before(api: Api, count: int, *, kind: str = "code", **ago: float) -> None:
    """Counts messages accepted this long ago, as both stores would have."""
    message = MessageFactory.build(company=api.company, kind=kind, phone=PHONE)
    windows = send_limits._windows(message)
    age = timedelta(**ago).total_seconds()
    for _ in range(count):
        at = timezone.now() - timedelta(**ago)
        MessageFactory.create(
            company=api.company, kind=kind, phone=PHONE, state="sent", created_at=at
        )
        with suppress(LimiterDownError):
            acquire(
                [window for window in windows if window.seconds > age],
                pool=send_limits._pool(message),
            )


@pytest.mark.usefixtures("store")
class TestBothStores:
    def test_cool_down_is_across_purposes(self, api: Api) -> None:
        assert send_code(api).status == 200

        refused = send_code(api, purpose="other")

        assert (refused.status, refused.code) == (429, "resend_too_soon")
        assert 58 <= refused.body["retry_after"] <= 60
        assert refused.headers["Retry-After"] == str(refused.body["retry_after"])

    def test_cool_down_is_of_one_phone_and_company(self, api: Api, client_of: ClientOf) -> None:
        other = client_of(CompanyFactory.create())
        assert send_code(api).status == 200

        assert send_code(api, "+79161234568").status == 200
        assert send_code(other).code == "insufficient_tokens"

    def test_links_have_no_cool_down_and_ignore_that_of_codes(self, api: Api) -> None:
        assert send_code(api).status == 200

        assert [send_link(api).status for _ in range(3)] == [200] * 3

    def test_test_keys_have_no_cool_down(self, test_api: Api) -> None:
        responses = [send_code(test_api) for _ in range(6)]

        assert [response.status for response in responses] == [200] * 5 + [429]
        assert responses[-1].code == "send_limit"

    @pytest.mark.parametrize(
        ("count", "minutes", "status"),
        [
            (4, 9, 200),
            (5, 9, 429),
            (5, 11, 200),
            (9, 59, 200),
            (10, 59, 429),
            (10, 61, 200),
            (19, 23 * 60, 200),
            (20, 23 * 60, 429),
            (20, 24 * 60 + 1, 200),
        ],
    )
    def test_codes_are_limited_by_window(
        self, api: Api, count: int, minutes: int, status: int
    ) -> None:
        sent_before(api, count, minutes=minutes)

        response = send_code(api)

        assert response.status == status
        if status == 429:
            assert response.code == "send_limit"
            assert response.body["retry_after"] >= 1

    @pytest.mark.parametrize(
        ("count", "minutes", "status"),
        [(4, 9, 200), (5, 9, 429), (19, 59, 200), (20, 59, 429), (20, 24 * 60 + 1, 200)],
    )
    def test_links_are_limited_by_window(
        self, api: Api, count: int, minutes: int, status: int
    ) -> None:
        sent_before(api, count, kind="link", minutes=minutes)

        assert send_link(api).status == status

    def test_codes_and_links_are_counted_apart(self, api: Api) -> None:
        sent_before(api, 5, minutes=2)

        assert send_code(api).code == "send_limit"
        assert send_link(api).status == 200

    def test_platform_does_not_count_test_messages(self, api: Api, client_of: ClientOf) -> None:
        for _ in range(7):
            tester = client_of(CompanyFactory.create(), "test")
            assert [send_code(tester).status for _ in range(5)] == [200] * 5

        assert send_code(api).status == 200

    def test_refused_send_takes_no_place(self, api: Api) -> None:
        for _ in range(3):
            assert send_code(api, channel="telegram", link="https://127.0.0.1/").status == 422
            assert send_code(api, purpose="p" * 65).status == 422

        assert send_code(api).status == 200

    def test_failed_message_gives_its_place_back(self, api: Api) -> None:
        assert send_code(api).status == 200
        fail_last()

        assert send_code(api, channel="sms").status == 200


def fail_last() -> None:
    """Reports that the phone of the last message cannot be reached."""
    message = Message.objects.latest("created_at")
    attempt = AttemptFactory.create(message=message, state="submitting")
    Message.objects.filter(pk=message.pk).update(tries=1)
    apply_event(attempt, EventKind.UNREACHABLE)


def test_place_is_given_back_three_times(api: Api) -> None:
    for _ in range(4):
        assert send_code(api).status == 200
        fail_last()

    assert send_code(api).code == "resend_too_soon"


def test_late_failure_does_not_end_the_cool_down_of_the_next(api: Api) -> None:
    assert send_code(api).status == 200
    first = Message.objects.get()
    attempt = AttemptFactory.create(message=first, state="submitting")
    Message.objects.update(tries=1)
    forget_limits()
    assert send_code(api).status == 200

    apply_event(attempt, EventKind.UNREACHABLE)

    assert send_code(api).code == "resend_too_soon"


def test_refusal_under_a_key_leaves_no_way_past_the_limits(api: Api) -> None:
    LinkFactory.create(slug="sale", key="sale", is_alias=True)
    sent_before(api, 4, kind="link", minutes=1)

    assert send_link_under_key(api, alias="sale").code == "alias_taken"
    assert send_link_under_key(api).status == 200
    assert send_link_under_key(api, key="k2").code == "send_limit"


def send_link_under_key(api: Api, key: str = "k", **fields: object) -> ApiResponse:
    payload = {"phone": PHONE, "url": URL} | fields
    return api.post("/links/send", payload, Idempotency_Key=key)


def a_send(company: Company, kind: str = "code") -> send_limits.Send:
    return send_limits.Send(uuid4(), company.pk, "live", kind, PHONE)


def end_with(error: Exception, send: send_limits.Send) -> None:
    with pytest.raises(type(error)), send_limits.acquire(send):
        raise error


def refusal(send: send_limits.Send, key_hash: str = "") -> Error:
    with pytest.raises(DomainError) as refused, send_limits.acquire(send, key_hash=key_hash):
        pass
    return refused.value.error


@pytest.mark.parametrize(
    "error",
    [
        DomainError(Error.INSUFFICIENT_TOKENS),
        IntegrityError('violates unique constraint "link_key_once"'),
        KeyError("a bug before the statement"),
    ],
)
def test_place_goes_back_when_nothing_was_written(company: Company, error: Exception) -> None:
    for _ in range(8):
        end_with(error, a_send(company))

    with send_limits.acquire(a_send(company)):
        pass


@pytest.mark.parametrize(
    "error",
    [
        IntegrityError('violates unique constraint "idempotency_key_once"'),
        OperationalError("server closed the connection unexpectedly"),
    ],
)
def test_place_is_kept_when_something_may_have_been_written(
    company: Company, error: Exception
) -> None:
    end_with(error, a_send(company))

    assert refusal(a_send(company)) is Error.RESEND_TOO_SOON


@pytest.mark.parametrize("kind", ["code", "link"])
def test_duplicate_learns_that_the_call_is_running(company: Company, kind: str) -> None:
    with send_limits.acquire(a_send(company, kind), key_hash="abc"):
        assert refusal(a_send(company, kind), key_hash="abc") is Error.REQUEST_IN_PROGRESS


def test_redis_keys_hold_no_phone(api: Api) -> None:
    send_code(api)
    send_link(api)
    api.post("/otp/verify", {"phone": PHONE, "code": "1234", "purpose": "x"})

    keys = [str(key) for key in redis_client().scan_iter()]

    assert len(keys) >= 6
    assert "9161234567" not in " ".join(keys)


@pytest.mark.parametrize("limit", [7, 20])
def test_of_parallel_takes_exactly_the_limit_is_granted(limit: int) -> None:
    windows = [Window(f"a{uuid4()}", limit, 60), Window(f"b{uuid4()}", limit + 5, 600)]

    taken = at_once([lambda: [acquire(windows) for _ in range(4)]] * 50)

    draws = [draw for several in taken for draw in several]
    assert Counter(draw.outcome for draw in draws) == {GRANTED: limit, 1: 200 - limit}
    assert redis_client().get(windows[1].key) == str(limit).encode()


def test_parallel_takes_of_a_cool_down_grant_one() -> None:
    key = f"cool{uuid4()}"

    draws = at_once([lambda: acquire([], cool_down=key, seconds=60, holder="h")] * 50)

    assert Counter(draw.outcome for draw in draws) == {GRANTED: 1, COOLING_DOWN: 49}


def test_refused_take_counts_nowhere() -> None:
    full = Window("full", 1, 60)
    empty = Window("empty", 9, 60)
    acquire([full])

    assert acquire([empty, full]).outcome == 2
    assert acquire([full, empty], cool_down="c", seconds=60, holder="h").outcome == 1

    assert redis_client().get("empty") is None
    assert redis_client().get("c") is None


def test_wait_is_the_rest_of_the_window() -> None:
    window = Window("w", 1, 600)
    acquire([window])
    redis_client().pexpire("w", 1500)

    assert acquire([window]) == LimitResult(1, 2)


def take(holder: str, key_hash: str) -> int:
    return acquire([], cool_down="c", seconds=60, holder=holder, key_hash=key_hash).outcome


def test_repeat_of_a_running_call_is_a_duplicate() -> None:
    assert take("id1:abc", "abc") == GRANTED
    assert take("id2:abc", "abc") == DUPLICATE
    assert take("id3:xyz", "xyz") == COOLING_DOWN
    assert take("id4:", "") == COOLING_DOWN


def test_repeat_takes_over_the_slot_of_a_dead_call() -> None:
    assert take("id1:abc", "abc") == GRANTED
    redis_client().pexpire("c", 60_000 - storage.atomic_limits.DUPLICATE_SECONDS * 1000 - 1)
    assert take("id2:xyz", "xyz") == COOLING_DOWN
    assert take("id3:abc", "abc") == GRANTED
    assert take("id4:abc", "abc") == DUPLICATE


def set_limits(company: Company, **limits: int | None) -> None:
    """Sets the limits as the settings page does, which also drops cached keys."""
    user = MemberFactory.create(company=company).user
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.db.transaction.on_commit", lambda call: call())
        companies.change_settings(company=company, user=user, changes=limits)


def code(api: Api, phone: str = PHONE) -> str:
    response = api.post("/otp/send", {"phone": phone})
    return "sent" if response.status == 200 else response.code


def link(api: Api) -> str:
    response = api.post("/links/send", {"phone": PHONE, "url": URL})
    return "sent" if response.status == 200 else response.code


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("limits", "sent"),
    [
        ({"codes_per_10_min": 2}, 2),
        ({"codes_per_10_min": 7}, 7),  # more than the service's own
        ({"codes_per_10_min": 5, "codes_per_hour": 5, "codes_per_day": 3}, 3),
        ({"codes_per_10_min": None}, 5),  # the service's own, once the company's is removed
    ],
    ids=["fewer", "more", "longest window", "removed"],
)
def test_company_s_own_limit_of_codes_counts(
    test_api: Api, limits: dict[str, int | None], sent: int
) -> None:
    set_limits(test_api.company, codes_per_10_min=1)
    set_limits(test_api.company, **limits)

    assert [code(test_api) for _ in range(sent + 1)] == ["sent"] * sent + ["send_limit"]


@pytest.mark.usefixtures("store")
def test_links_and_codes_are_limited_apart(test_api: Api) -> None:
    set_limits(test_api.company, links_per_10_min=1, codes_per_10_min=1)

    responses = [link(test_api), link(test_api), code(test_api), code(test_api), link(test_api)]

    assert responses == ["sent", "send_limit", "sent", "send_limit", "send_limit"]


@pytest.mark.usefixtures("store")
def test_cool_down_is_the_company_s(api: Api) -> None:
    set_limits(api.company, cool_down=120)

    sent = api.post("/otp/send", {"phone": PHONE})
    again = api.post("/otp/send", {"phone": PHONE})

    assert sent.body["resend_in"] == 120
    assert again.code == "resend_too_soon"
    assert 118 <= again.body["retry_after"] <= 120


@pytest.mark.usefixtures("store")
def test_refused_send_gives_its_place_back(test_api: Api, store: str) -> None:
    set_limits(test_api.company, codes_per_10_min=1)
    attempt = submitted(test_api, PHONE)
    apply_event(attempt, EventKind.REFUSED, code="test")

    assert Message.objects.get().state == "failed"
    assert code(test_api) == "sent"
    assert code(test_api) == "send_limit"
