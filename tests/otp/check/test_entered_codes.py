"""Vendors that ask for it are told of the codes that were entered."""

import time
from typing import Any
from uuid import UUID

import orjson
import pytest
import requests
import responses
import structlog
from django.db import connection
from pytest_django import Settings

from channels.deliver import sweeps
from channels.lifecycle.state_machine import EventKind
from channels.models import Attempt
from channels.vendor_accounts import registry
from otp.check import entered_codes, settlement
from otp.models import Verification
from storage.redis_client import redis_client
from tests.api.clients import Api
from tests.channels.accounts import name_accounts
from tests.channels.message_stages import PHONE, accepted, apply_event, claim, message_of, submitted
from tests.channels.providers.vendors import body_of
from tests.otp.sent_codes import age_rows, code_of, wrong_code

pytestmark = pytest.mark.django_db
OTHER_PHONES = [f"+7916123{number}" for number in range(4000, 4012)]
Wire = responses.RequestsMock


@pytest.fixture
def url(settings: Settings) -> str:
    api_url = settings.PROVIDER_ACCOUNTS["telegram_gateway"]["api_url"]
    return f"{api_url}/checkVerificationStatus"


@pytest.fixture(autouse=True)
def _nobody_waits() -> None:
    redis_client().delete(entered_codes.QUEUE)


def by_telegram(api: Api, phone: str = PHONE) -> Attempt:
    attempt = accepted(api, phone, channel="telegram")
    assert attempt.provider == "telegram_gateway"
    return attempt


def enter(api: Api, phone: str = PHONE) -> str:
    code = code_of(phone)
    assert api.post("/otp/verify", {"phone": phone, "code": code}).status == 200
    return code


def recorded_reports(wire: Wire) -> list[dict[str, Any]]:
    return [orjson.loads(body_of(call.request)) for call in wire.calls]


@pytest.mark.django_db(transaction=True)
def test_vendor_is_called_without_a_transaction(wire: Wire, url: str, api: Api) -> None:
    states: list[str] = []

    def respond(_request: object) -> tuple[int, dict[str, str], str]:
        with connection.cursor() as cursor:  # of the thread that calls
            cursor.execute(
                "SELECT state FROM pg_stat_activity WHERE datname = current_database()"
                " AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
            states.extend(state for (state,) in cursor.fetchall())
        connection.close()
        return 200, {}, '{"ok": true, "result": {}}'

    wire.add_callback("POST", url, callback=respond)
    apply_event(by_telegram(api), EventKind.DELIVERED)
    enter(api)
    settlement.settle_verified()

    assert entered_codes.report() == 1

    assert set(states) == {"idle"}


@pytest.mark.parametrize("has_receipt", [True, False])
def test_entered_code_is_reported_once_after_its_settlement(
    wire: Wire, url: str, api: Api, *, has_receipt: bool
) -> None:
    wire.post(url, json={"ok": True, "result": {}})
    attempt = by_telegram(api)
    if has_receipt:
        apply_event(attempt, EventKind.DELIVERED)
    code = enter(api)
    assert entered_codes.report() == 0

    settlement.settle_verified()
    assert recorded_reports(wire) == []  # not by the loop that settles
    assert entered_codes.report() == 1
    settlement.settle_verified()
    assert entered_codes.report() == 0

    assert recorded_reports(wire) == [{"request_id": attempt.provider_id, "code": code}]


def test_polling_thread_reports_entered_codes(wire: Wire, url: str, api: Api) -> None:
    wire.post(url, json={"ok": True, "result": {}})
    apply_event(by_telegram(api), EventKind.DELIVERED)
    enter(api)
    settlement.settle_verified()

    sweeps.poll_thread()._work()

    assert len(wire.calls) == 1


def test_telegram_gets_no_report_of_code_delivered_elsewhere(wire: Wire, api: Api) -> None:
    by_telegram(api)
    age_rows(seconds=61)
    message = message_of(api.post("/otp/send", {"phone": PHONE, "channel": "sms"}))
    sms = accepted_of(message.pk)
    apply_event(sms, EventKind.DELIVERED)
    enter(api)

    settlement.settle_verified()

    assert entered_codes.report() == 0
    assert recorded_reports(wire) == []


def accepted_of(message_id: UUID) -> Attempt:
    claim()
    attempt = Attempt.objects.get(message_id=message_id)
    apply_event(attempt, EventKind.ACCEPTED, provider_id="SM1")
    return attempt


def test_other_codes_are_not_reported(wire: Wire, api: Api) -> None:
    expired = by_telegram(api)
    unknown = submitted(api, OTHER_PHONES[0], channel="telegram")
    apply_event(expired, EventKind.EXPIRED)
    apply_event(unknown, EventKind.AMBIGUOUS)  # the vendor gave it no id
    wrong = by_telegram(api, OTHER_PHONES[1])
    apply_event(wrong, EventKind.DELIVERED)
    for phone in (PHONE, OTHER_PHONES[0]):
        enter(api, phone)
    api.post("/otp/verify", {"phone": OTHER_PHONES[1], "code": wrong_code(OTHER_PHONES[1])})

    settlement.settle_verified()

    assert entered_codes.report() == 0
    assert recorded_reports(wire) == []


def test_company_s_custom_code_is_no_longer_known(wire: Wire, api: Api) -> None:
    attempt = accepted(api, channel="telegram", code="7391")
    apply_event(attempt, EventKind.DELIVERED)
    response = api.post("/otp/feedback", {"phone": PHONE, "code": "7391"})
    assert response.status == 200, response.body

    assert settlement.settle_verified() == 1

    assert entered_codes.report() == 0
    assert recorded_reports(wire) == []


def test_code_of_a_test_key_is_not_reported_to_vendors(wire: Wire, test_api: Api) -> None:
    accepted(test_api, channel="telegram")
    test_api.post("/otp/verify", {"phone": PHONE, "code": code_of(PHONE, mode="test")})

    assert settlement.settle_verified() == 1

    assert entered_codes.report() == 0


def test_code_with_a_removed_key_is_not_rendered(wire: Wire, api: Api, settings: Settings) -> None:
    apply_event(by_telegram(api), EventKind.DELIVERED)
    enter(api)
    settlement.settle_verified()
    settings.OTP_KEYS = {"9": b"another key"}

    assert entered_codes.report() == 0
    assert recorded_reports(wire) == []


@pytest.mark.parametrize(
    ("response", "calls"),
    [
        ({"json": {"ok": False, "error": "REQUEST_ID_INVALID"}}, 12),
        ({"json": {"ok": False, "error": "FLOOD_WAIT_5"}}, 8),
        ({"json": {"ok": False, "error": "ACCESS_TOKEN_INVALID"}}, 8),
        ({"body": "<html>", "status": 502}, 8),
        ({"body": requests.exceptions.ConnectTimeout()}, 8),
        ({"body": ValueError("482915")}, 12),
    ],
)
def test_failing_vendor_is_paused_without_logging_codes(
    wire: Wire,
    url: str,
    api: Api,
    monkeypatch: pytest.MonkeyPatch,
    *,
    response: dict[str, Any],
    calls: int,
) -> None:
    captured = structlog.testing.LogCapture()
    every_level = structlog.make_filtering_bound_logger(0)
    log = structlog.wrap_logger(None, processors=[captured], wrapper_class=every_level)
    monkeypatch.setattr(entered_codes, "log", log)
    wire.post(url, **response)
    entered = []
    for phone in OTHER_PHONES:
        apply_event(by_telegram(api, phone), EventKind.DELIVERED)
        entered.append(enter(api, phone))
    assert settlement.settle_verified() == 12

    assert entered_codes.report() == 0

    assert 1 <= len(wire.calls) <= calls
    assert calls == 8 or len(wire.calls) == 12
    assert captured.entries
    assert not any(code in str(captured.entries) for code in [*entered, "482915"])
    assert entered_codes._pop_waiting() == []
    assert not Verification.objects.filter(settled_at__isnull=True).exists()


def test_slow_vendor_gets_its_turn_again_in_the_next_round(
    wire: Wire, url: str, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def respond(_request: object) -> tuple[int, dict[str, str], str]:
        time.sleep(0.05)
        return 200, {}, '{"ok": true, "result": {}}'

    wire.add_callback("POST", url, callback=respond)
    monkeypatch.setattr(entered_codes, "MAX_REPORT_SECONDS", 0.02)
    for phone in OTHER_PHONES:
        apply_event(by_telegram(api, phone), EventKind.DELIVERED)
        enter(api, phone)
    settlement.settle_verified()

    assert entered_codes.report() == 8
    assert entered_codes.report() == 4


def test_other_account_is_reported_while_one_is_paused(
    wire: Wire, url: str, api: Api, settings: Settings
) -> None:
    wire.post(url, json={"ok": True, "result": {}})
    names = ["telegram_gateway", "telegram_gateway:other"]
    name_accounts(settings, "other", vendor="telegram_gateway")
    for phone, name in zip(OTHER_PHONES, names, strict=False):
        attempt = by_telegram(api, phone)
        apply_event(attempt, EventKind.DELIVERED)
        Attempt.objects.filter(pk=attempt.pk).update(provider=name)
        enter(api, phone)
    entered_codes._skipped_until["telegram_gateway"] = time.monotonic() + 60
    settlement.settle_verified()

    assert entered_codes.report() == 1

    (call,) = wire.calls
    assert call.request.headers["Authorization"] == "Bearer other"


def test_nothing_is_kept_where_no_vendor_asks(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    apply_event(by_telegram(api), EventKind.DELIVERED)
    enter(api)
    monkeypatch.setattr(registry, "wanting_entered_codes", list)

    settlement.settle_verified()

    assert redis_client().llen(entered_codes.QUEUE) == 0
    assert entered_codes.report() == 0


def test_list_of_those_that_wait_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entered_codes, "MAX_QUEUED", 3)
    ids = [Verification().pk for _ in range(5)]

    entered_codes.enqueue(ids)

    assert entered_codes._pop_waiting() == ids[2:]
    assert 0 < entered_codes.QUEUE_TTL <= 600


@pytest.mark.usefixtures("no_redis")
def test_settlement_goes_on_without_redis(api: Api) -> None:
    apply_event(by_telegram(api), EventKind.DELIVERED)
    enter(api)

    assert settlement.settle_verified() == 1
    assert entered_codes.report() == 0
