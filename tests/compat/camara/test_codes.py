"""CAMARA's send-code and validate-code."""

from typing import Any
from uuid import UUID

import pytest

from accounts.keys import api_keys
from accounts.models import Company, Mode
from api.body_admission import refuse
from billing.models import Wallet
from catalogue.errors import Error
from channels.history import phone_screens
from channels.models import BlockedPhone, Message
from compat.camara.dialect import DIALECT
from otp.models import Verification
from tests.api.clients import ApiResponse
from tests.api.races import at_once
from tests.compat.clients import DialectClient, client_key
from tests.compat.twilio.client import Twilio
from tests.factories import CompanyFactory
from tests.otp.sent_codes import age_rows, code_of, forget_limits, wrong_code

pytestmark = pytest.mark.django_db
ROOT = "/one-time-password-sms/v1"
PHONE = "+79161234567"
LANDLINE = "+74951234567"
MESSAGE = "{{code}} is your code for Cool App"
NAME = "ONE_TIME_PASSWORD_SMS"


def client_of(company: Company, mode: str = Mode.TEST, **fields: Any) -> DialectClient:
    return DialectClient(DIALECT, client_key(company, mode=mode, **fields).plaintext)


@pytest.fixture
def client(company: Company) -> DialectClient:
    return client_of(company)


@pytest.fixture
def live(company: Company) -> DialectClient:
    return client_of(company, Mode.LIVE)


def send(
    client: DialectClient, phone: Any = PHONE, message: Any = MESSAGE, **more: Any
) -> ApiResponse:
    return client.json(f"{ROOT}/send-code", {"phoneNumber": phone, "message": message} | more)


def send_for_id(client: DialectClient, **fields: Any) -> str:
    response = send(client, **fields)
    assert (response.status, list(response.body)) == (200, ["authenticationId"]), response.raw
    return str(response.body["authenticationId"])


def validate(client: DialectClient, authentication_id: Any, code: Any) -> ApiResponse:
    body = {"authenticationId": authentication_id, "code": code}
    return client.json(f"{ROOT}/validate-code", body)


def check(response: ApiResponse, status: int, code: str) -> None:
    assert (response.status, response.body["status"], response.code) == (status, status, code)
    assert response.body.keys() == {"status", "code", "message"}
    assert response.body["message"]


def test_code_is_sent_and_validated_once(client: DialectClient) -> None:
    made = send_for_id(client)

    response = validate(client, made, code_of(PHONE, "login", "test"))

    assert (response.status, response.raw) == (204, b"")
    assert "Content-Type" not in response.headers
    assert len(made) == 36
    assert Verification.objects.get().pk == UUID(made)
    check(validate(client, made, "000000"), 400, f"{NAME}.VERIFICATION_EXPIRED")


def test_message_is_sent_by_sms_with_the_callers_text(live: DialectClient) -> None:
    send_for_id(live, message="Код для {brand}: {{code}}\r\nНикому его не говорите")

    message = Message.objects.get()
    text, code = phone_screens.render(message)
    assert (message.channel, message.params["door"]) == ("sms", "camara")
    assert text == f"Код для Ромашка: {code}\nНикому его не говорите"


@pytest.mark.parametrize(
    "wrong",
    [
        {"phone": None},
        {"phone": "3301"},
        {"phone": "79161234567"},
        {"phone": "+7 916 123-45-67"},
        {"phone": f"{PHONE}\n"},
        {"phone": "+7916123456789012"},
        {"phone": 79161234567},
        {"phone": ["+79161234567"]},
        {"phone": "+12"},
        {"message": None},
        {"message": ""},
        {"message": "message without code"},
        {"message": "{code}"},
        {"message": MESSAGE + "x" * 160},
        {"message": "{{code}} {{code}}"},
        {"message": "{{code}} {name}"},
        {"message": "{{code}} at https://shop.example/login"},
        {"message": "{{code}}, or call 8 800 555 35 35"},
        {"message": "{{code}}\x00"},
        {"message": {"text": MESSAGE}},
    ],
    ids=str,
)
def test_wrong_field_is_an_invalid_argument(client: DialectClient, wrong: dict[str, Any]) -> None:
    check(send(client, **wrong), 400, "INVALID_ARGUMENT")
    assert not Message.objects.exists()


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"null", b"{", b"\xff"])
@pytest.mark.parametrize("name", ["send-code", "validate-code"])
def test_body_without_fields_is_an_invalid_argument(
    client: DialectClient, name: str, body: bytes
) -> None:
    check(client.call("POST", f"{ROOT}/{name}", body), 400, "INVALID_ARGUMENT")


def test_longest_message_is_accepted(client: DialectClient) -> None:
    send_for_id(client, message="{{code}} " + "я" * 151)


def test_second_code_is_another_and_ends_the_first(client: DialectClient) -> None:
    first = send_for_id(client)
    first_code = code_of(PHONE, "login", "test")

    second = send_for_id(client)

    assert second != first
    check(validate(client, first, first_code), 400, f"{NAME}.VERIFICATION_EXPIRED")
    assert validate(client, second, code_of(PHONE, "login", "test")).status == 204


def test_refused_second_code_does_not_change_the_first(live: DialectClient) -> None:
    first = send_for_id(live)

    response = send(live)

    check(response, 403, f"{NAME}.MAX_OTP_CODES_EXCEEDED")
    assert int(response.headers["Retry-After"]) > 0
    assert validate(live, first, code_of(PHONE, "login")).status == 204


def test_last_wrong_code_and_those_after_it_have_failed(client: DialectClient) -> None:
    made = send_for_id(client)
    right = code_of(PHONE, "login", "test")
    wrong = wrong_code(PHONE, "login", "test")

    responses = [validate(client, made, wrong) for _ in range(5)] + [validate(client, made, right)]

    assert [response.status for response in responses] == [400] * 6
    codes = [response.code.removeprefix(f"{NAME}.") for response in responses]
    assert codes == ["INVALID_OTP"] * 4 + ["VERIFICATION_FAILED"] * 2


def test_code_past_its_lifetime_is_expired(client: DialectClient) -> None:
    made = send_for_id(client)
    code = code_of(PHONE, "login", "test")
    age_rows(minutes=20)

    check(validate(client, made, code), 400, f"{NAME}.VERIFICATION_EXPIRED")


@pytest.mark.parametrize(
    "unknown", ["ea0840f3-3663-4149-bd10-c7c6b8912105", "", "x", "0", "é", "z" * 36, "{}"]
)
def test_unknown_id_is_not_found(client: DialectClient, unknown: str) -> None:
    check(validate(client, unknown, "123456"), 404, "NOT_FOUND")


def test_codes_of_others_are_not_found(client: DialectClient, company: Company) -> None:
    made = send_for_id(client)
    code = code_of(PHONE, "login", "test")
    strangers = [
        client_of(CompanyFactory.create(status=Company.Status.APPROVED)),
        client_of(company, Mode.LIVE),
    ]

    for stranger in strangers:
        check(validate(stranger, made, code), 404, "NOT_FOUND")
    assert validate(client, made, code).status == 204


@pytest.mark.parametrize(
    "wrong",
    [
        {"authentication_id": None},
        {"authentication_id": "x" * 37},
        {"authentication_id": 5},
        {"code": None},
        {"code": "thisCodeExceedsTenCharacters"},
        {"code": 123456},
        {"code": "1\x002"},
    ],
    ids=str,
)
def test_wrong_field_of_a_check_is_an_invalid_argument(
    client: DialectClient, wrong: dict[str, Any]
) -> None:
    fields = {"authentication_id": send_for_id(client), "code": "123456"} | wrong

    check(validate(client, **fields), 400, "INVALID_ARGUMENT")


@pytest.mark.parametrize("code", ["", "AJY3", "1", "é", "０００００００", "' OR 1=1"])
def test_code_of_any_format_is_an_invalid_otp(client: DialectClient, code: str) -> None:
    check(validate(client, send_for_id(client), code), 400, f"{NAME}.INVALID_OTP")


def test_landline_is_not_allowed(client: DialectClient, live: DialectClient) -> None:
    check(send(live, LANDLINE), 403, f"{NAME}.PHONE_NUMBER_NOT_ALLOWED")
    check(send(client, LANDLINE), 403, f"{NAME}.PHONE_NUMBER_NOT_ALLOWED")


@pytest.mark.parametrize("phone", ["+99999", "+346661113334", "+88216212345"])
def test_number_that_gets_no_messages_is_not_allowed(client: DialectClient, phone: str) -> None:
    response = send(client, phone)

    check(response, 403, f"{NAME}.PHONE_NUMBER_NOT_ALLOWED")
    assert response.body["message"].startswith("phoneNumber: ")


def test_disallowed_country_is_refused(live: DialectClient) -> None:
    check(send(live, "+77011234567"), 403, f"{NAME}.PHONE_NUMBER_NOT_ALLOWED")


def test_blocked_phone_is_blocked(client: DialectClient, live: DialectClient) -> None:
    BlockedPhone.objects.create(phone=PHONE, said_stop=True)

    for each in (client, live):
        check(send(each), 403, f"{NAME}.PHONE_NUMBER_BLOCKED")


def test_code_by_another_channel_starts_the_pause(live: DialectClient, company: Company) -> None:
    Twilio(company, mode=Mode.LIVE).create(Channel="whatsapp")

    held = send(live)

    check(held, 403, f"{NAME}.MAX_OTP_CODES_EXCEEDED")
    assert int(held.headers["Retry-After"]) <= 60


def test_too_many_codes_are_exceeded(client: DialectClient) -> None:
    for _ in range(5):
        send_for_id(client)

    check(send(client), 403, f"{NAME}.MAX_OTP_CODES_EXCEEDED")


def test_too_many_wrong_codes_hold_back_the_next_one(client: DialectClient) -> None:
    for _ in range(2):
        made = send_for_id(client)
        wrong = wrong_code(PHONE, "login", "test")
        for _guess in range(5):
            validate(client, made, wrong)
        forget_limits()

    check(send(client), 403, f"{NAME}.MAX_OTP_CODES_EXCEEDED")


def test_balance_is_a_quota(live: DialectClient, company: Company) -> None:
    Wallet.objects.filter(company=company).update(available=3)

    check(send(live), 429, "QUOTA_EXCEEDED")


@pytest.mark.parametrize(
    ("script", "status", "code"),
    [
        ("0001", 403, f"{NAME}.PHONE_NUMBER_NOT_ALLOWED"),
        ("0002", 429, "QUOTA_EXCEEDED"),
        ("0011", 403, f"{NAME}.MAX_OTP_CODES_EXCEEDED"),
        ("0012", 403, f"{NAME}.MAX_OTP_CODES_EXCEEDED"),
        ("0013", 403, f"{NAME}.PHONE_NUMBER_NOT_ALLOWED"),
        ("0014", 403, f"{NAME}.PHONE_NUMBER_NOT_ALLOWED"),
        ("0015", 403, f"{NAME}.PHONE_NUMBER_NOT_ALLOWED"),
        ("0016", 403, f"{NAME}.PHONE_NUMBER_NOT_ALLOWED"),
    ],
)
def test_scripted_number_is_refused_in_the_standards_format(
    client: DialectClient, script: str, status: int, code: str
) -> None:
    check(send(client, f"+7916123{script}"), status, code)


CORRELATOR = "b4333c46-49c0-4f62-80d7-f0ef930f1c46"


def test_correlator_is_repeated_by_every_response(client: DialectClient) -> None:
    header: Any = {"x-correlator": CORRELATOR}
    made = send_for_id(client)
    responses = [
        client.call("POST", f"{ROOT}/{name}", body, **header)
        for name in ("send-code", "validate-code", "nothing")
        for body in (b"{}", b"[", b'{"phoneNumber": "+79161234568", "message": "{{code}}"}')
    ]
    responses.append(client.call("DELETE", f"{ROOT}/send-code", **header))
    responses.append(DialectClient(DIALECT, None).call("POST", f"{ROOT}/send-code", **header))
    code = code_of(PHONE, "login", "test")
    body = f'{{"authenticationId": "{made}", "code": "{code}"}}'.encode()
    responses.append(client.call("POST", f"{ROOT}/validate-code", body, **header))

    assert responses[-1].status == 204
    assert {response.headers["x-correlator"] for response in responses} == {CORRELATOR}
    assert "x-correlator" not in send(client).headers


def test_correlator_is_repeated_by_a_refusal_in_front_of_django() -> None:
    environ = {
        "PATH_INFO": f"{DIALECT.path}{ROOT}/send-code",
        "REQUEST_METHOD": "POST",
        "REMOTE_ADDR": "198.51.100.9",
        "HTTP_X_CORRELATOR": CORRELATOR,
        "wsgi.url_scheme": "https",
    }

    _status, headers, _body = refuse(environ, Error.REQUEST_TIMEOUT)

    assert ("x-correlator", CORRELATOR) in headers


@pytest.mark.parametrize("correlator", ["x" * 257, "a b", "é", "a\tb", "a,b"])
def test_correlator_of_another_form_is_refused(client: DialectClient, correlator: str) -> None:
    response = client.call("POST", f"{ROOT}/send-code", b"{}", x_correlator=correlator)

    check(response, 400, "INVALID_ARGUMENT")
    assert "x-correlator" in response.body["message"]
    assert "x-correlator" not in response.headers


@pytest.mark.parametrize("version", ["vwip", "v2alpha1"])
def test_next_version_refuses_unknown_properties(client: DialectClient, version: str) -> None:
    path = f"/one-time-password-sms/{version}"
    body = {"phoneNumber": PHONE, "message": MESSAGE}

    check(client.json(f"{path}/send-code", body | {"phone": 1}), 400, "INVALID_ARGUMENT")
    taken = client.json(f"{path}/send-code", body)
    check_body = {"authenticationId": taken.body["authenticationId"], "code": "1"}
    refused = client.json(f"{path}/validate-code", check_body | {"x" * 900: {}})

    assert taken.status == 200
    check(refused, 400, "INVALID_ARGUMENT")
    assert send(client, phone="+79161234568", phone_number="x").status == 200


def test_policy_for_the_number_decides_the_channel(live: DialectClient, company: Company) -> None:
    order = ["whatsapp", "telegram", "sms"]
    rule: Any = {
        "country": "RU",
        "purpose": "",
        "channels": order,
        "patience": {},
        "max_cost": None,
        "barred": None,
        "locale": "",
    }
    Company.objects.filter(pk=company.pk).update(policy=[rule])
    api_keys.clear_cache()

    send_for_id(live)

    message = Message.objects.get()
    assert [message.channel, *(step["channel"] for step in message.chain)] == ["telegram", "sms"]


def test_parallel_sends_make_one_message(transactional_db: None, live: DialectClient) -> None:
    responses = at_once([lambda: send(live)] * 2)

    assert sorted(response.status for response in responses) == [200, 403]
    assert Message.objects.count() == 1


def test_parallel_test_sends_leave_one_code(transactional_db: None, client: DialectClient) -> None:
    responses = at_once([lambda: send(client)] * 4)

    assert {response.status for response in responses} == {200}
    assert len({response.body["authenticationId"] for response in responses}) == 4
    assert Verification.objects.filter(superseded_at=None).count() == 1
