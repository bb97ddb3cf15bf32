"""Prelude's Python client, unmodified, against the running service.

`prelude_sdk.py ADDRESS KEY READER`

ADDRESS is the dialect's, KEY a test key for clients, READER an ordinary test key that reads what
phones show. The client checks every answer by its models: an unknown status would be an error.
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import prelude_python_sdk
from prelude_python_sdk import Prelude

from tests.judges import sdk_cases
from tests.judges.sdk_cases import equal, run_cases, wrong
from tests.judges.sdk_cases import new_phone as phone

ADDRESS, KEY, READER = sys.argv[1:4]
code_at = partial(sdk_cases.code_at, ADDRESS, READER)
PAYMENT = {"amount": "12.34", "currency": "EUR", "recipient": "Shop"}
client = Prelude(base_url=ADDRESS, api_token=KEY, max_retries=0, _strict_response_validation=True)


def target(number: str) -> Any:
    return {"type": "phone_number", "value": number}


def create(number: str, **more: Any) -> Any:
    return client.verification.create(target=target(number), **more)


def check(number: str, code: str, **more: Any) -> str:
    return str(client.verification.check(target=target(number), code=code, **more).status)


def refused(call: Callable[[], Any]) -> tuple[int, str]:
    try:
        call()
    except prelude_python_sdk.APIStatusError as error:
        return error.status_code, error.body["code"]
    raise AssertionError("not refused")


def case_success() -> None:
    number = phone()
    sent = create(number, metadata={"correlation_id": "order-7"})
    equal(
        (sent.status, sent.method, sent.metadata.correlation_id), ("success", "message", "order-7")
    )
    code = code_at(number)
    equal(check(number, wrong(code)), "failure")
    checked = client.verification.check(target=target(number), code=code)
    equal(
        (checked.status, checked.id, checked.metadata.correlation_id),
        ("success", sent.id, "order-7"),
    )
    equal(check(number, code), "expired_or_not_found")


def case_retry() -> None:
    number = phone()
    first, second = create(number), create(number)
    equal((second.status, second.id), ("retry", first.id))
    equal(check(number, code_at(number)), "success")


def case_unknown() -> None:
    equal(check(phone(), "123456"), "expired_or_not_found")


def case_options() -> None:
    number = phone()
    sent = create(
        number,
        options={"code_size": 8, "channels": ["sms"], "locale": "en-GB", "max_auto_fallbacks": 0},
    )
    equal((sent.status, sent.channels, len(code_at(number))), ("success", ["sms"], 8))
    number = phone()
    equal(create(number, options={"preferred_channel": "telegram"}).channels, ["telegram"])
    equal(create(phone(), options={"force_challenge": True}).status, "challenged")


def case_custom_code() -> None:
    number = phone()
    create(number, options={"custom_code": "482915"})
    equal(check(number, "482915"), "success")


def case_payment() -> None:
    number = phone()
    create(number, options={"template_id": "prelude:psd2", "variables": PAYMENT})
    code = code_at(number)
    equal(check(number, code), "transaction_missing")
    equal(check(number, code, psd2=PAYMENT | {"amount": "99"}), "transaction_mismatch")
    equal(check(number, code, psd2=PAYMENT), "success")


def case_blocked() -> None:
    for ending, reason in (
        ("0011", "repeated_attempts"),
        ("0015", "suspicious"),
        ("0016", "suspicious"),
    ):
        result = create(phone(ending))
        equal((result.status, result.reason), ("blocked", reason))
    landline = create("+74951234567", options={"channels": ["sms"]})
    equal((landline.status, landline.reason), ("blocked", "invalid_phone_line"))


def case_signals() -> None:
    signals: Any = {
        "ip": "198.51.100.7",
        "device_id": "d",
        "device_platform": "ios",
        "app_version": "1",
    }
    equal(create(phone(), signals=signals, dispatch_id="x").status, "success")


def case_refusals() -> None:
    numbered = {
        "0001": (400, "invalid_phone_number"),
        "0002": (400, "insufficient_balance"),
        "0013": (400, "channel_not_enabled_in_region"),
        "0014": (400, "unsupported_country"),
    }
    for ending, expected in numbered.items():
        equal(refused(partial(create, phone(ending))), expected)
    equal(refused(lambda: create("89161234567")), (400, "invalid_phone_number"))
    equal(refused(lambda: check(phone("0012"), "123456")), (429, "too_many_checks"))
    email: Any = {"type": "email_address", "value": "a@example.com"}
    equal(
        refused(lambda: client.verification.create(target=email)),
        (400, "email_verification_not_allowed"),
    )
    stranger = client.with_options(api_token="kv_test_unknown")
    equal(refused(lambda: stranger.lookup.lookup("+79161234567")), (401, "invalid_api_key"))


def case_repeats_itself_only_where_it_helps() -> None:
    patient = client.with_options(max_retries=2)
    started = time.monotonic()
    equal(
        refused(lambda: patient.verification.check(target=target(phone("0012")), code="123456"))[0],
        429,
    )
    assert time.monotonic() - started < 5, "the client waited and repeated"


def case_lookup() -> None:
    result = client.lookup.lookup("+79161234567")
    equal(
        (result.phone_number, result.country_code, result.line_type),
        ("+79161234567", "RU", "mobile"),
    )
    equal(client.lookup.lookup("+74951234567", type=["cnam"]).line_type, "fixed_line")


def case_feedback() -> None:
    feedbacks: Any = [
        {"target": target(phone()), "type": "verification.completed"},
        {"target": target(phone()), "type": "verification.started"},
    ]
    equal(client.watch.send_feedbacks(feedbacks=feedbacks).status, "success")
    equal(refused(lambda: client.watch.predict(target=target(phone())))[0], 404)


if __name__ == "__main__":
    sys.exit(run_cases(globals()))
