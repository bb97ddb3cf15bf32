"""Prelude's calls as its clients see them: statuses, reasons, risk factors, refusals."""

import pytest
from django.conf import settings

from accounts.models import Company, GuardMode, Mode
from channels.models import BlockedPhone, Message
from otp.models import GuardRestriction, Verification
from tests.api.clients import Api
from tests.compat.clients import DialectClient
from tests.compat.prelude.calls import ODD, PHONE, PURPOSE, check, client_of, refusal, send, target
from tests.factories import CompanyFactory
from tests.otp.protection.test_send_check import hold
from tests.otp.sent_codes import age_rows, code_of, forget_limits, wrong_code

pytestmark = pytest.mark.usefixtures("queued_at_once")
STEP = GuardRestriction.Step
NUMBERED = [  # test numbers that are refused, and how
    ("0001", 400, "invalid_phone_number"),
    ("0002", 400, "insufficient_balance"),
    ("0013", 400, "channel_not_enabled_in_region"),
    ("0014", 400, "unsupported_country"),
]


def test_code_is_sent_and_checked_by_number(client: DialectClient) -> None:
    sent = send(client, metadata={"correlation_id": "order-7"})
    verification = Verification.objects.get()
    identity = {"id": f"vrf_{verification.pk.hex}", "metadata": {"correlation_id": "order-7"}}

    assert sent.body == identity | {
        "method": "message",
        "status": "success",
        "channels": ["whatsapp"],
        "request_id": sent.headers["X-Request-Id"],
    }
    message = Message.objects.get()
    assert (message.reference, message.params["door"]) == ("order-7", "prelude")
    wrong = check(client, wrong_code(PHONE, PURPOSE)).body
    assert wrong == identity | {"status": "failure", "request_id": wrong["request_id"]}
    right = check(client, code_of(PHONE, PURPOSE)).body
    assert right == identity | {"status": "success", "request_id": right["request_id"]}


def test_used_old_and_unknown_codes_are_not_found(client: DialectClient) -> None:
    unknown = check(client, "123456")
    send(client)
    code = code_of(PHONE, PURPOSE)
    check(client, code)
    used = check(client, code)
    forget_limits()
    send(client)
    age_rows(seconds=settings.CODE_LIFETIME + 1)
    old = check(client, "123456")

    assert {response.body["status"] for response in (unknown, used, old)} == {
        "expired_or_not_found"
    }
    assert {response.status for response in (unknown, used, old)} == {200}


def test_code_of_another_company_is_not_found(client: DialectClient) -> None:
    send(client)
    code = code_of(PHONE, PURPOSE)
    stranger = client_of(CompanyFactory.create())

    response = check(stranger, code)

    assert (response.status, response.body["status"]) == (200, "expired_or_not_found")
    assert check(client, code).body["status"] == "success"


def test_too_many_checks_are_refused_and_not_repeated(client: DialectClient) -> None:
    send(client)
    wrong = wrong_code(PHONE, PURPOSE)

    *failed, refused = [check(client, wrong) for _ in range(6)]

    assert {response.body["status"] for response in failed} == {"failure"}
    assert refusal(refused) == (429, "too_many_checks")
    assert refused.headers["x-should-retry"] == "false"


def test_retry_during_the_cool_down_sends_nothing(client: DialectClient) -> None:
    first = send(client, metadata={"correlation_id": "a"}).body

    retry = send(client).body

    assert retry == first | {"status": "retry", "request_id": retry["request_id"]}
    assert Message.objects.count() == 1


def test_retry_after_the_cool_down_sends_again(client: DialectClient) -> None:
    first = send(client).body
    age_rows(seconds=61)

    retry = send(client, options={"preferred_channel": "sms"}).body

    assert (retry["id"], retry["status"], retry["channels"]) == (first["id"], "retry", ["sms"])
    assert Message.objects.count() == 2


def test_email_is_refused_like_for_an_account_without_it(client: DialectClient) -> None:
    response = client.json("/v2/verification", target("a@example.com", "email_address"))

    assert refusal(response) == (400, "email_verification_not_allowed")


@pytest.mark.parametrize("phone", ["89161234567", "79161234567", "+7", "a@example.com", ""])
def test_number_needs_its_plus(client: DialectClient, phone: str) -> None:
    response = send(client, phone)

    assert refusal(response) == (400, "invalid_phone_number")
    assert response.body["param"] == "target.value"


@pytest.mark.parametrize(("digits", "status", "code"), NUMBERED)
def test_refusals_of_a_send(company: Company, digits: str, status: int, code: str) -> None:
    response = send(client_of(company, mode=Mode.TEST), f"+7999000{digits}")

    assert refusal(response) == (status, code)
    assert response.headers["x-should-retry"] == "false"


@pytest.mark.parametrize(
    ("phone", "reason", "factors"),
    [
        ("+79990000011", "repeated_attempts", ["repeated_attempts"]),
        ("+79990000012", "repeated_attempts", ["repeated_attempts"]),
        ("+79990000015", "suspicious", ["number_range_abuse"]),
        ("+79990000016", "suspicious", ["number_range_abuse"]),
    ],
)
def test_blocked_send_has_its_reason(
    company: Company, phone: str, reason: str, factors: list[str]
) -> None:
    response = send(client_of(company, mode=Mode.TEST), phone, metadata={"correlation_id": "a"})

    assert (response.status, response.body["status"]) == (200, "blocked")
    assert (response.body["reason"], response.body["risk_factors"]) == (reason, factors)
    assert response.body["id"].startswith("vrf_")
    assert response.body["metadata"] == {"correlation_id": "a"}


def test_landline_is_an_invalid_line_for_sms(client: DialectClient) -> None:
    response = send(client, "+74951234567", options={"channels": ["sms"]})

    assert (response.body["status"], response.body["reason"]) == ("blocked", "invalid_phone_line")
    assert "risk_factors" not in response.body


def test_person_who_asked_to_stop_is_in_the_block_list(client: DialectClient) -> None:
    BlockedPhone.objects.create(phone=PHONE, reason="STOP")

    assert send(client).body["reason"] == "in_block_list"


@pytest.mark.parametrize(
    ("kind", "value", "factor"),
    [("prefix-4", PHONE[:-4], "number_range_abuse"), ("country", "RU", "poor_conversion_history")],
)
def test_monitoring_guard_answers_shadow_blocked(
    client: DialectClient, company: Company, kind: str, value: str, factor: str
) -> None:
    company.guard_mode = GuardMode.WATCH
    company.save()
    hold(Api(company, None), STEP.REFUSE, kind=kind, value=value)

    response = send(client)

    assert (response.body["status"], response.body["reason"]) == ("shadow_blocked", "suspicious")
    assert response.body["risk_factors"] == [factor]
    assert Message.objects.count() == 1


def test_guard_that_bars_sms_answers_challenged(client: DialectClient, company: Company) -> None:
    company.guard_mode = GuardMode.ENFORCE
    company.save()
    hold(Api(company, None), STEP.CHEAP_ONLY)

    response = send(client)

    assert (response.body["status"], response.body["channels"]) == ("challenged", ["whatsapp"])
    assert "reason" not in response.body


def test_guard_that_bars_sms_bars_a_repeat_by_preferred_sms(
    client: DialectClient, company: Company
) -> None:
    company.guard_mode = GuardMode.ENFORCE
    company.save()
    hold(Api(company, None), STEP.CHEAP_ONLY)

    first, repeat = (send(client, options={"preferred_channel": "sms"}).body for _ in range(2))

    assert (first["status"], repeat["status"]) == ("challenged", "retry")
    assert [message.channel for message in Message.objects.all()] == ["whatsapp"]


def test_sms_as_the_only_channel_is_not_challenged(client: DialectClient, company: Company) -> None:
    company.guard_mode = GuardMode.ENFORCE
    company.save()
    hold(Api(company, None), STEP.CHEAP_ONLY)

    body = send(client, options={"channels": ["sms"]}).body

    assert (body["status"], body["channels"]) == ("success", ["sms"])


def test_signals_are_those_of_the_person(client: DialectClient) -> None:
    signals = {"ip": "93.184.216.34", "device_id": "d", "is_trusted_user": True, "os_version": "1"}

    send(client, signals=signals, dispatch_id="d")

    assert Message.objects.get().params["sender"].keys() == {"ip", "device"}
    assert refusal(send(client, signals={"ip": "x"})) == (400, "invalid_request")


@pytest.mark.parametrize(
    ("phone", "line", "country"),
    [
        ("+79161234567", "mobile", "RU"),
        ("+74951234567", "fixed_line", "RU"),
        ("+18002345678", "toll_free", "US"),
    ],
)
def test_lookup_names_the_line(client: DialectClient, phone: str, line: str, country: str) -> None:
    response = client.get(f"/v2/lookup/{phone.replace('+', '%2B')}")

    assert response.body == {
        "phone_number": phone,
        "country_code": country,
        "line_type": line,
        "request_id": response.body["request_id"],
    }
    assert refusal(client.get("/v2/lookup/x")) == (400, "invalid_phone_number")


@pytest.mark.parametrize(
    "path", ["watch/predict", "watch/event", "watch/evaluate", "notify", "transactional"]
)
def test_other_calls_are_refused_in_preludes_format(client: DialectClient, path: str) -> None:
    response = client.json(f"/v2/{path}", target())

    assert (response.status, response.body["type"]) == (404, "not_found")


@pytest.mark.parametrize("path", ["verification", "verification/check", "watch/feedback"])
def test_odd_values_are_refused_in_preludes_format(client: DialectClient, path: str) -> None:
    names = ("target", "options", "signals", "metadata", "psd2", "code", "feedbacks")
    bodies = [target() | {"code": "123456", name: odd} for name in names for odd in ODD]

    responses = [client.json(f"/v2/{path}", body) for body in bodies]

    assert {response.status for response in responses} <= {200, 400, 429}
    assert 400 in {response.status for response in responses}
