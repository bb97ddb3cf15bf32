"""Steps of CAMARA's .feature files for one-time-password-sms, run by behave outside of this tree.

The environment has the service's address, a key of each kind, the standard's YAML, and a number
that asked to get nothing. Each scenario has its own number: the last four digits script what a
test key's number does. Every answer is held against the YAML, too.
"""

import itertools
import json
import os
import random
import re
from typing import Any
from uuid import uuid4

import requests
import yaml
from behave import given, then, when
from jsonschema import Draft4Validator
from openapi_core import OpenAPI
from openapi_core.contrib.requests import RequestsOpenAPIRequest, RequestsOpenAPIResponse

URL = os.environ["CAMARA_URL"]
YAML = os.environ["CAMARA_YAML"]
VERIFY_KEY = os.environ["VERIFY_KEY"]
TEST_KEY = os.environ["TEST_KEY"]
API_URL = os.environ["API_URL"]
BLOCKED = os.environ["BLOCKED_PHONE"]
with open(YAML, encoding="utf-8") as file:  # noqa: PTH123 - a standalone script
    SPEC = yaml.safe_load(file)
SPEC["servers"] = [{"url": f"{URL}/one-time-password-sms/v1"}]
del SPEC["components"]["securitySchemes"]["openId"]  # whose discovery document is not asked for
for path in SPEC["paths"].values():
    path["post"].pop("security")
JUDGE = OpenAPI.from_dict(SPEC)
LANDLINE = "+74951234567"
NOT_REACHED = "0003"
EXPIRED = "0004"
DELIVERED = "0000"
MAX_SEND = 6
MAX_TRY = 5
MAX_LENGTH = 160
MESSAGE = "{{code}} is your short code to authenticate with Cool App via SMS"
_counter = itertools.count(random.randrange(9000))  # noqa: S311


def _phone(script: str) -> str:
    return f"+7916{next(_counter) % 1000:03d}{script}"


def _token() -> str:
    form = {"grant_type": "client_credentials", "client_id": "cool", "client_secret": VERIFY_KEY}
    response = requests.post(f"{URL}/oauth2/token", data=form, timeout=10)
    return str(response.json()["access_token"])


TOKEN = _token()


class Call:
    """A request built by the steps, and its answer."""

    def __init__(self) -> None:
        self.path, self.headers = "", {}  # type: str, dict[str, str]
        self.body: Any = {}
        self.response: requests.Response | None = None


def _send(path: str, body: Any, headers: dict[str, str]) -> requests.Response:
    request = requests.Request(
        "POST", URL + path, headers=headers, data=None if body is None else json.dumps(body)
    )
    with requests.Session() as session:
        response = session.send(session.prepare_request(request), timeout=20)
    JUDGE.validate_response(RequestsOpenAPIRequest(request), RequestsOpenAPIResponse(response))
    return response


def _property(context: Any, name: str, value: Any) -> None:
    context.call.body = (context.call.body or {}) | {name: value}


def _default_headers(context: Any) -> dict[str, str]:
    return {
        "Content-Type": "application/json",
        "Authorization": f"Bearer {TOKEN}",
        "x-correlator": str(uuid4()),
    }


def _send_code(context: Any, phone: str) -> str:
    body = {"phoneNumber": phone, "message": MESSAGE}
    response = _send("/one-time-password-sms/v1/send-code", body, _default_headers(context))
    assert response.status_code == 200, response.text
    return str(response.json()["authenticationId"])


def _code_on(phone: str) -> str:
    response = requests.get(
        f"{API_URL}/test/messages",
        params={"phone": phone, "limit": 1},
        headers={"Authorization": f"Bearer {TEST_KEY}"},
        timeout=10,
    )
    return str(response.json()["data"][0]["code"])


def _wrong(code: str) -> str:
    return code[:-1] + str((int(code[-1]) + 1) % 10)


def _sent(context: Any) -> None:
    context.phone = _phone(
        EXPIRED if "verification_expired_scenario_1" in context.tag else DELIVERED
    )
    context.authentication_id = _send_code(context, context.phone)
    _property(context, "authenticationId", context.authentication_id)
    context.code = _code_on(context.phone)


@given('an environment at "apiRoot"')
def _environment(context: Any) -> None:
    context.call = Call()
    context.tag = " ".join(context.tags)


@given('the resource "{path}"')
def _resource(context: Any, path: str) -> None:
    context.call.path = path
    is_send = path.endswith("send-code")
    context.schema = "SendCodeBody" if is_send else "ValidateCodeBody"


@given('the header "{name}" is set to "{value}"')
def _header(context: Any, name: str, value: str) -> None:
    context.call.headers[name] = value


@given('the header "Authorization" is set to a valid access token')
@given('the header "Authorization" is set')
def _authorized(context: Any) -> None:
    context.call.headers["Authorization"] = f"Bearer {TOKEN}"
    if "without_x-correlator" in context.tag:
        context.call.headers.pop("x-correlator", None)


@given('the header "x-correlator" complies with the schema at "{_schema}"')
def _correlator(context: Any, _schema: str) -> None:
    context.call.headers["x-correlator"] = str(uuid4())


@given("the request body is set by default to a request body compliant with the schema")
def _default_body(context: Any) -> None:
    properties = SPEC["components"]["schemas"][context.schema]["properties"]
    names = {name: ref["$ref"].rpartition("/")[2] for name, ref in properties.items()}
    schemas = SPEC["components"]["schemas"]
    context.call.body = {name: schemas[ref]["example"] for name, ref in names.items()}


@given("the request body is not included")
def _no_body(context: Any) -> None:
    context.call.body = None


@given('the request body is set to "{text}"')
def _whole_body(context: Any, text: str) -> None:
    context.call.body = json.loads(text)


@given('the request body property "$.phoneNumber" is set to config_var: "phone_number"')
def _own_phone(context: Any) -> None:
    context.phone = _phone(DELIVERED)
    _property(context, "phoneNumber", context.phone)


@given('the request body property "$.message" is set to config_var: "message"')
def _own_message(context: Any) -> None:
    _property(context, "message", MESSAGE)


@given('the request body property "$.message" is longer than config_var:"{_name}"')
def _long_message(context: Any, _name: str) -> None:
    _property(context, "message", MESSAGE + "x" * MAX_LENGTH)


@given('the request body property "$.{name}" is not valued')
def _missing(context: Any, name: str) -> None:
    context.call.body.pop(name)


@given('the request body property "$.phoneNumber" is set to a phone number that cannot receive SMS')
def _unreached(context: Any) -> None:
    _property(context, "phoneNumber", _phone(NOT_REACHED))


@given('the request body property "$.phoneNumber" is set to a phone number that target a landline')
def _landline(context: Any) -> None:
    _property(context, "phoneNumber", LANDLINE)


@given(
    'the request body property "$.phoneNumber" is set to a phone number that that has an active '
    "SMS barring"
)
def _barred(context: Any) -> None:
    _property(context, "phoneNumber", BLOCKED)


@given('(config_var:"max_send"-1) of send-code requests for this phone number has been submitted')
def _many_sends(context: Any) -> None:
    for _number in range(MAX_SEND - 1):
        _send_code(context, context.phone)


@given('the header "Authorization" is removed')
def _unauthorized(context: Any) -> None:
    del context.call.headers["Authorization"]


@given('the header "Authorization" is set to an expired')
@given('the header "Authorization" is set to an expired access token')
def _expired_token(context: Any) -> None:
    context.call.headers["Authorization"] = f"Bearer {os.environ['EXPIRED_TOKEN']}"


@given('the header "Authorization" is set to an invalid access token')
def _invalid_token(context: Any) -> None:
    context.call.headers["Authorization"] = "Bearer of bad news"


@given("an authenticationId has been retrieved from a send-code request")
@given('request body property "$.authenticationId" is set to the value from send-code request')
def _retrieved(context: Any) -> None:
    _sent(context)


@given('the request body property "$.code" is set to the value received in the SMS')
@given('the request body property "$.code" is set to the received in the SMS')
@given('the request body property "$.code" is set to the code received in the SMS')
@given(
    'the request body property "$.code" is set to the received in the SMS for this first request'
)
def _correct_code(context: Any) -> None:
    _property(context, "code", context.code)


@given('the request body property "$.code" is set to a format valid value')
def _some_code(context: Any) -> None:
    _property(context, "code", "123456")


@given(
    'the request body property "$.code" is set to a value distinct from the value received in the '
    "SMS"
)
def _wrong_code(context: Any) -> None:
    _property(context, "code", _wrong(context.code))


@given("the time elapsed since the send-code exceed the allowed time")
def _elapsed(context: Any) -> None:
    assert context.phone.endswith(EXPIRED)  # whose codes are over when they arrive


@given("Two send-code request has been sequentially triggered for the same phoneNumber")
def _twice(context: Any) -> None:
    _sent(context)
    _send_code(context, context.phone)


@given(
    'request body property "$.authenticationId" is set to the value got for the first send-code '
    "request"
)
@given('request body property "$.authenticationId" is valued again with this authenticationId')
def _again(context: Any) -> None:
    _property(context, "authenticationId", context.authentication_id)


@given("a validate-code has been succesfully performed for a authenticationId")
def _validated(context: Any) -> None:
    _sent(context)
    body = {"authenticationId": context.authentication_id, "code": context.code}
    assert _send(context.call.path, body, _default_headers(context)).status_code == 204


@given(
    '(config_var:"max_try"-1) calls with the request body property "$.code" set to a value '
    "distinct from the value received in the SMS were performed"
)
def _many_guesses(context: Any) -> None:
    _property(context, "code", _wrong(context.code))
    for _number in range(MAX_TRY - 1):
        _send(context.call.path, context.call.body, _default_headers(context))


@given('the request body property "$.authenticationId" is set to an unknown value')
def _unknown_id(context: Any) -> None:
    _property(context, "authenticationId", str(uuid4()))


@given('the request body property "$.{name}" is set to "{value}"')
def _set(context: Any, name: str, value: str) -> None:
    _property(context, name, value)


@when('the HTTP "POST" request is sent')
def _post(context: Any) -> None:
    call = context.call
    call.response = _send(call.path, call.body, call.headers)


@then('the response property "$.status" is {status:d}')
@then("the response status code is {status:d}")
def _status(context: Any, status: int) -> None:
    response = context.call.response
    assert response.status_code == status, (response.status_code, response.text)
    assert response.status_code < 300 or response.json()["status"] == status


@then('the response property "$.code" is "{code}"')
def _error_code(context: Any, code: str) -> None:
    assert context.call.response.json()["code"] == code, context.call.response.text


@then('the response property "$.message" contains a user friendly text')
def _message(context: Any) -> None:
    assert re.search(r"\w{3}", context.call.response.json()["message"])


@then('the response header "x-correlator" has same value as the request header "x-correlator"')
def _same_correlator(context: Any) -> None:
    sent = context.call.headers["x-correlator"]
    assert context.call.response.headers["x-correlator"] == sent


@then('the response header "Content-Type" is "application/json"')
def _content_type(context: Any) -> None:
    assert context.call.response.headers["Content-Type"] == "application/json"


@then('the response body complies with the OAS schema at "{path}"')
def _schema(context: Any, path: str) -> None:
    name = path.rpartition("/")[2]
    schema = SPEC["components"]["schemas"][name] | {"components": SPEC["components"]}
    Draft4Validator(schema).validate(context.call.response.json())
