"""What the documentation says of a call is what the call does."""

from collections.abc import Mapping
from typing import Any

import jsonschema
import pytest
from django.conf import settings

from accounts.models import Company
from channels import scripts
from channels.delivery import Dispatcher
from config.errors import Error
from reference.advice import ADVICE
from reference.calls import BY_NAME, CALLS
from reference.numbers import numbers
from reference.schema import error_schema, refusal_example
from reference.shapes import Call, Field, Schema, object_of
from tests.api.clients import Answer, Api, ClientOf

PHONE, URL = "+79990000000", "https://shop.example/orders/1024"
ASKED = {
    "sendCode": {"phone": PHONE, "link": URL},
    "shortenLink": {"url": URL},
    "sendLink": {"phone": PHONE, "url": URL, "channel": "sms"},
}
WITH_BODY = [call for call in CALLS if call.body]


def strict(schema: Schema) -> Schema:
    """The schema as JSON Schema, with no field but those that are written down."""
    made = {name: one for name, one in schema.items() if name not in {"nullable", "example"}}
    if "properties" in made:
        inner = {name: strict(one) for name, one in made["properties"].items()}
        made |= {"properties": inner, "additionalProperties": False}
    if isinstance(made.get("items"), dict):
        made["items"] = strict(made["items"])
    return {"anyOf": [made, {"type": "null"}]} if schema.get("nullable") else made


def check(call: Call, body: Mapping[str, Any]) -> None:
    """The answer has the fields that are written down, of those kinds, and no other."""
    schema = strict(object_of(call.answer, "en"))
    rest = {name: one for name, one in body.items() if name not in {"success", "message"}}
    jsonschema.validate(rest, schema, format_checker=jsonschema.FormatChecker())


def perform(api: Api, call: Call) -> Answer:
    """The call, after what must have come before it."""
    if call.name == "verifyCode":
        perform(api, BY_NAME["sendCode"])
        code = api.get("/test/messages", {"phone": PHONE}).body["data"][0]["code"]
        return api.post("/otp/verify", {"phone": PHONE, "code": code})
    if call.method == "POST":
        return api.post(call.path, ASKED[call.name])
    sent = perform(api, BY_NAME["sendCode"]) if call.path.startswith(("/mess", "/test")) else None
    return api.get(call.path.replace("{id}", sent.body["id"] if sent else ""))


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_answer_has_the_fields_that_are_written_down(
    dispatcher: Dispatcher, test_api: Api, call: Call
) -> None:
    answer = perform(test_api, call)

    assert (answer.status, answer.body["success"]) == (200, True), answer.body
    assert answer.body["message"] in call.message or call.name.startswith("send")
    check(call, answer.body)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
@pytest.mark.parametrize("language", ["ru", "en"])
def test_example_of_an_answer_fits_its_schema(call: Call, language: str) -> None:
    check(call, call.answer_example(language))


@pytest.mark.parametrize("call", WITH_BODY, ids=lambda call: call.name)
def test_required_fields_are_required(test_api: Api, call: Call) -> None:
    errors = test_api.post(call.path, {}).body["errors"]

    assert set(errors) == {field.name for field in call.body if field.required}


def beyond(field: Field) -> list[Any]:
    """Values just outside of what a field's schema allows."""
    schema, found = field.schema, []
    if "enum" in schema:
        found.append("carrier pigeon")
    if "minimum" in schema:
        found += [schema["minimum"] - 1, schema["maximum"] + 1]
    if "minLength" in schema:
        found.append("x" * (schema["minLength"] - 1))
    if "maxLength" in schema:
        found.append("x" * (schema["maxLength"] + 1))
    if "pattern" in schema:
        found += ["123", "123456789"]
    return found


def within(field: Field) -> list[Any]:
    """The outermost values it allows."""
    schema = field.schema
    found = [one for one in schema.get("enum", []) if one is not None]
    if "minimum" in schema:
        found += [schema["minimum"], schema["maximum"]]
    return [*found, None] if schema.get("nullable") else found


CASES = [
    pytest.param(call, field, id=f"{call.name}-{field.name}")
    for call in WITH_BODY
    for field in call.body
]


def payload(call: Call, field: Field, value: Any) -> dict[str, Any]:
    needed = {one.name: one.example for one in call.body if one.required}
    return needed | {field.name: value}


@pytest.mark.parametrize(("call", "field"), CASES)
def test_bounds_of_a_field_are_kept(
    company: Company, client_of: ClientOf, call: Call, field: Field
) -> None:
    api = client_of(company, "test")

    for value in beyond(field):
        answer = api.post(call.path, payload(call, field, value))

        is_named = field.name in answer.body.get("errors", {})
        assert is_named or answer.code in {"invalid_phone", "url_not_allowed"}, (value, answer.body)


@pytest.mark.parametrize(("call", "field"), CASES)
def test_values_within_the_bounds_are_taken(
    company: Company, client_of: ClientOf, call: Call, field: Field
) -> None:
    api = client_of(company, "test")

    for value in within(field):
        answer = api.post(call.path, payload(call, field, value))

        assert "errors" not in answer.body, (value, answer.body)


@pytest.mark.parametrize("error", Error, ids=lambda error: error.code)
def test_every_error_is_advised_on(error: Error) -> None:
    assert error in ADVICE
    for language in ("ru", "en"):
        schema = strict(error_schema(language))
        jsonschema.validate(refusal_example(error, language), schema)


@pytest.mark.parametrize("digits", scripts.OUTCOMES)
def test_number_plays_the_part_that_is_written_down(
    dispatcher: Dispatcher, test_api: Api, digits: str
) -> None:
    _words, error = scripts.OUTCOMES[digits]

    answer = test_api.post("/otp/send", {"phone": f"+7999000{digits}"})

    assert answer.status == (error.status if error else 200)
    assert answer.body.get("code") == (error.code if error else None)
    if error:
        extra = set(answer.body) - {"success", "code", "message", "request_id"}
        assert extra == set(ADVICE[error].extra)


def test_verdicts_have_the_fields_that_are_written_down(test_api: Api) -> None:
    test_api.post("/otp/send", {"phone": PHONE})

    wrong = test_api.post("/otp/verify", {"phone": PHONE, "code": "0000"})
    faulty = test_api.post("/links/shorten", {"url": "http://10.0.0.1/"})

    for answer, error in ((wrong, Error.CODE_INVALID), (faulty, Error.URL_NOT_ALLOWED)):
        assert set(answer.body) == set(refusal_example(error, "ru"))


def test_limits_page_shows_what_is_set() -> None:
    shown = numbers()

    assert shown["code_limits"] == settings.CODE_LIMITS
    assert shown["api_rate"] == settings.API_RATE
    assert dict(shown["prices"])["SMS"] == settings.PRICES["sms"]
