"""Infobip's Python client, unmodified, against the running service.

`infobip_sdk.py ADDRESS KEY READER`

ADDRESS is the dialect's, KEY a test key for clients, READER an ordinary test key that reads what
phones show. The client builds its strict models of every answer, of refusals too.
"""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from infobip_api_client import ApiClient, Configuration
from infobip_api_client.api.tfa_api import TfaApi
from infobip_api_client.exceptions import ApiException
from infobip_api_client.models import (
    TfaApplicationRequest,
    TfaCreateMessageRequest,
    TfaPinType,
    TfaResendPinRequest,
    TfaStartAuthenticationRequest,
    TfaUpdateMessageRequest,
    TfaVerifyPinRequest,
)

from tests.judges import sdk_cases
from tests.judges.sdk_cases import equal, new_phone, run_cases, wrong

ADDRESS, KEY, READER = sys.argv[1:4]
code_at = partial(sdk_cases.code_at, ADDRESS, READER)


def phone(ending: str = "0000") -> str:
    """Returns the phone as bare digits, as Infobip's clients write it."""
    return new_phone(ending).removeprefix("+")


def api(key: str = KEY) -> TfaApi:
    return TfaApi(ApiClient(Configuration(host=ADDRESS, api_key=key)))


tfa = api()


def ids(length: int = 6) -> tuple[str, str]:
    (application,) = tfa.get_tfa_applications()
    messages = tfa.get_tfa_message_templates(application.application_id)
    chosen = next(each for each in messages if each.pin_length == length)
    return application.application_id, chosen.message_id


def send(number: str, length: int = 6, **more: Any) -> Any:
    application, message = ids(length)
    request = TfaStartAuthenticationRequest(
        application_id=application, message_id=message, to=number, **more
    )
    return tfa.send_tfa_pin_code_over_sms(request)


def verify(pin_id: str, pin: str) -> Any:
    return tfa.verify_tfa_phone_number(pin_id, TfaVerifyPinRequest(pin=pin))


def refused(call: Callable[[], Any]) -> tuple[int, str]:
    try:
        call()
    except ApiException as error:
        return error.status, error.data.request_error.service_exception.message_id
    raise AssertionError("not refused")


def case_success() -> None:
    number = phone()
    sent = send(number)
    equal((sent.to, sent.sms_status), (number, "MESSAGE_SENT"))
    code = code_at(number)
    failed = verify(sent.pin_id, wrong(code))
    equal((failed.verified, failed.attempts_remaining, failed.pin_error), (False, 4, "WRONG_PIN"))
    right = verify(sent.pin_id, code)
    equal(
        (right.verified, right.msisdn, right.pin_id, right.pin_error),
        (True, number, sent.pin_id, None),
    )
    equal(verify(sent.pin_id, code).pin_error, "NO_MORE_PIN_ATTEMPTS")


def case_attempts() -> None:
    number = phone()
    sent = send(number)
    code = code_at(number)
    errors = [verify(sent.pin_id, wrong(code)).pin_error for _ in range(6)]
    equal(errors, ["WRONG_PIN"] * 5 + ["NO_MORE_PIN_ATTEMPTS"])


def case_expired() -> None:
    sent = send(phone("0004"))
    equal(verify(sent.pin_id, "123456").pin_error, "TTL_EXPIRED")


def case_resend() -> None:
    number = phone()
    sent = send(number)
    for request in (None, TfaResendPinRequest(placeholders={"firstName": "A"})):
        again = tfa.resend_tfa_pin_code_over_sms(sent.pin_id, request or TfaResendPinRequest())
        equal((again.pin_id, again.to, again.sms_status), (sent.pin_id, number, "MESSAGE_SENT"))
    equal(verify(sent.pin_id, code_at(number)).verified, True)
    equal(
        refused(lambda: tfa.resend_tfa_pin_code_over_sms(sent.pin_id, TfaResendPinRequest())),
        (400, "BAD_REQUEST"),
    )


def case_lengths() -> None:
    for length in range(4, 9):
        number = phone()
        send(number, length)
        equal(len(code_at(number)), length)


def case_tracked() -> None:
    sent = send(phone(), track_delivery=True, placeholders={"a": "b"}, var_from="Shop")
    assert sent.external_message_id.startswith("msg_")


def case_not_sent() -> None:
    equal(send(phone("0003")).sms_status, "MESSAGE_NOT_SENT")


def case_applications() -> None:
    request = TfaApplicationRequest(name="Shop", enabled=True)
    made = tfa.create_tfa_application(request)
    equal((made.enabled, made.configuration.allow_multiple_pin_verifications), (True, False))
    equal(tfa.get_tfa_application(made.application_id), made)
    equal(tfa.update_tfa_application(made.application_id, request), made)
    template = TfaCreateMessageRequest(
        message_text="Your pin is {{pin}}", pin_length=4, pin_type=TfaPinType.NUMERIC
    )
    message = tfa.create_tfa_message_template(made.application_id, template)
    equal((message.pin_length, message.pin_type), (4, TfaPinType.NUMERIC))
    equal(tfa.get_tfa_message_template(made.application_id, message.message_id), message)
    change = TfaUpdateMessageRequest(message_text="Pin {{pin}}", pin_length=4)
    equal(tfa.update_tfa_message_template(made.application_id, message.message_id, change), message)
    template.pin_type = TfaPinType.ALPHA
    equal(
        refused(lambda: tfa.create_tfa_message_template(made.application_id, template)),
        (400, "BAD_REQUEST"),
    )


def case_statuses() -> None:
    number, (application, _message) = phone(), ids()
    sent = send(number)
    (result,) = tfa.get_tfa_verification_status(number, application, verified=False).verifications
    equal((result.msisdn, result.verified), (number, False))
    verify(sent.pin_id, code_at(number))
    (result,) = tfa.get_tfa_verification_status(number, application, verified=True).verifications
    assert result.verified_at >= result.sent_at > 10**12, "not milliseconds"


def case_refusals() -> None:
    numbered = {
        "0001": (400, "BAD_REQUEST"),
        "0002": (403, "FORBIDDEN"),
        "0011": (429, "TOO_MANY_REQUESTS"),
        "0014": (400, "BAD_REQUEST"),
        "0016": (403, "FORBIDDEN"),
    }
    for ending, expected in numbered.items():
        equal(refused(partial(send, phone(ending))), expected)
    equal(refused(lambda: send("0161234567")), (400, "BAD_REQUEST"))
    equal(refused(lambda: verify("9C817C6F8AF3D48F9FE553282AFA2B67", "1598")), (404, "NOT_FOUND"))
    equal(
        refused(lambda: tfa.get_tfa_application("0933F3BC087D2A617AC6DCB2EF5B8A61")),
        (404, "NOT_FOUND"),
    )
    sent = send(phone())
    equal(
        refused(lambda: tfa.resend_tfa_pin_code_over_voice(sent.pin_id, TfaResendPinRequest())),
        (403, "FORBIDDEN"),
    )
    equal(refused(api("kv_test_unknown").get_tfa_applications), (401, "UNAUTHORIZED"))


if __name__ == "__main__":
    sys.exit(run_cases(globals()))
