"""The specification's statements about fields and errors, compared with the API's answers."""

from collections.abc import Mapping
from typing import Any

import jsonschema
import orjson
import pytest
import time_machine
from django.conf import settings
from django.utils import translation
from standardwebhooks import Webhook

from api.calls import Call, Field, Schema
from api_docs.calls import CALLS
from api_docs.pages.values import numbers
from api_docs.schema import webhook_events
from api_docs.schema.components import object_of
from api_docs.schema.schema import error_fields, refusal_example
from catalogue.errors import Error
from channels.deliver.dispatcher import Dispatcher
from channels.routing import scripted_numbers
from tests.api.calling import BY_NAME, NEEDS_LIVE_KEY, PHONE, path_of, perform
from tests.api.clients import Api
from tests.factories import EndpointFactory
from tests.stack.programs import wait_until
from webhooks.models import Event, EventKind

WITH_BODY = [call for call in CALLS if call.body]
# One of these must be given. Of the second call the schema does not say so: `oneOf` would take the
# one class that clients have been generated with apart.
ONE_OF = {
    "createTopUp": ("tokens", "package"),
    "verifyCode": ("phone", "id"),
    "reportEntered": ("phone", "id"),
}


def strict(schema: Schema) -> Schema:
    """Returns the schema as JSON Schema that allows only documented fields."""
    made = dict(schema)
    if "properties" in made:
        inner = {name: strict(inner_schema) for name, inner_schema in made["properties"].items()}
        made |= {"properties": inner, "additionalProperties": False}
    if isinstance(made.get("items"), dict):
        made["items"] = strict(made["items"])
    return made


def check(call: Call, body: Mapping[str, Any]) -> None:
    """Asserts that the answer has exactly the documented fields, of the documented types."""
    schema = strict(object_of(call.response))
    rest = {name: value for name, value in body.items() if name not in {"success", "message"}}
    jsonschema.validate(rest, schema, format_checker=jsonschema.FormatChecker())


@pytest.mark.usefixtures("dispatcher", "price_list")
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_answer_has_the_fields_that_are_written_down(api: Api, test_api: Api, call: Call) -> None:
    response = perform(api if call.scope in NEEDS_LIVE_KEY else test_api, call)

    assert (response.status, response.body["success"]) == (200, True), response.body
    assert response.body["message"] == call.message or call.name.startswith("send")
    check(call, response.body)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
@pytest.mark.parametrize("language", ["ru", "en"])
def test_example_of_an_answer_fits_its_schema(call: Call, language: str) -> None:
    with translation.override(language):
        check(call, call.response_example())


@pytest.mark.usefixtures("dispatcher", "price_list")
@pytest.mark.parametrize("call", WITH_BODY, ids=lambda call: call.name)
def test_required_fields_are_required(api: Api, call: Call) -> None:
    path = path_of(api, call)

    response = api.call(call.method, path, b"{}")

    required = {field.name for field in call.body if field.required}
    one_of_two = set(ONE_OF.get(call.name, ())[:1])
    assert set(response.body.get("errors", {})) == required | one_of_two


def beyond(field: Field) -> list[Any]:
    """Returns values just outside of the bounds in a field's schema."""
    schema = field.schema
    result = []
    if "enum" in schema:
        result.append("carrier pigeon")
    if "minimum" in schema:
        result += [schema["minimum"] - 1, schema["maximum"] + 1]
    if "minLength" in schema:
        result.append("x" * (schema["minLength"] - 1))
    if "maxLength" in schema:
        result.append("x" * (schema["maxLength"] + 1))
    if "pattern" in schema:
        result += ["123", "12345678901"]
    return result


def within(field: Field) -> list[Any]:
    """Returns the outermost values that a field's schema allows."""
    schema = field.schema
    result = [value for value in schema.get("enum", []) if value is not None]
    if field.name == "tokens":  # the fewest are what the price list says
        return [100, schema["maximum"]]
    if "minimum" in schema:
        result += [schema["minimum"], schema["maximum"]]
    return [*result, None] if schema.get("nullable") else result


CASES = [
    pytest.param(call, field, id=f"{call.name}-{field.name}")
    for call in WITH_BODY
    for field in call.body
]


def payload(call: Call, field: Field, value: Any) -> dict[str, Any]:
    needed = {other.name: other.example for other in call.body if other.required}
    one_of = ONE_OF.get(call.name, ())
    if field.name not in one_of or value is None:
        first = one_of[:1]
        needed |= {other.name: other.example or 1000 for other in call.body if other.name in first}
    if call.name == "reportEntered":  # a phone needs the code, an id is enough
        by_id = value is None and field.name != "id"
        needed = {"id": f"msg_{0:032x}"} if by_id else {"phone": PHONE, "code": "482915"}
    return needed | {field.name: value}


@pytest.mark.usefixtures("price_list")
@pytest.mark.parametrize(("call", "field"), CASES)
def test_bounds_of_a_field_are_kept(api: Api, test_api: Api, call: Call, field: Field) -> None:
    caller = api if call.scope in NEEDS_LIVE_KEY else test_api
    path = path_of(caller, call)

    for value in beyond(field):
        response = caller.call(call.method, path, orjson.dumps(payload(call, field, value)))

        is_named = field.name in response.body.get("errors", {})
        assert is_named or response.code in {"invalid_phone", "url_not_allowed"}, (
            value,
            response.body,
        )


@pytest.mark.usefixtures("price_list")
@pytest.mark.parametrize(("call", "field"), CASES)
def test_values_within_the_bounds_are_accepted(
    api: Api, test_api: Api, call: Call, field: Field
) -> None:
    caller = api if call.scope in NEEDS_LIVE_KEY else test_api
    path = path_of(caller, call)

    for value in within(field):
        response = caller.call(call.method, path, orjson.dumps(payload(call, field, value)))

        assert "errors" not in response.body, (value, response.body)


LISTS = [call for call in CALLS if call.query is not None and "{" not in call.path]


@pytest.mark.parametrize("call", LISTS, ids=lambda call: call.name)
def test_list_accepts_only_documented_parameters(api: Api, test_api: Api, call: Call) -> None:
    caller = test_api if call.path.startswith("/test/") else api
    names = [field.name for field in call.query or ()]

    response = caller.get(call.path, {"staus": "failed"})

    assert (response.status, response.code) == (422, "invalid_input")
    assert list(response.body["errors"]) == ["staus"]
    for name in names:
        known = caller.get(call.path, {name: "…"})
        assert "Нет такого параметра" not in str(known.body.get("errors", "")), name


@pytest.mark.parametrize("call", LISTS, ids=lambda call: call.name)
def test_empty_parameter_of_a_list_counts_as_absent(api: Api, test_api: Api, call: Call) -> None:
    caller = test_api if call.path.startswith("/test/") else api
    required = {field.name: PHONE for field in call.query or () if field.required}

    bare = caller.get(call.path, required)
    empty = caller.get(call.path, dict.fromkeys([f.name for f in call.query or ()], "") | required)

    assert (bare.status, empty.status) == (200, 200)
    assert bare.body | {"exported_at": None} == empty.body | {"exported_at": None}


@pytest.mark.parametrize("call", [call for call in CALLS if call.query], ids=lambda call: call.name)
def test_parameter_is_given_once(api: Api, test_api: Api, call: Call) -> None:
    """The last of two would be taken, and the first forgotten."""
    caller = test_api if call.path.startswith("/test/") else api
    path = path_of(caller, call)

    for field in call.query or ():
        response = caller.call(call.method, f"{path}?{field.name}=1&{field.name}=2")

        assert (response.status, response.code) == (422, "invalid_input")
        assert response.body["errors"] == {field.name: ["Укажите этот параметр один раз"]}


@pytest.mark.parametrize("error", Error, ids=lambda error: error.code)
def test_every_error_is_advised_on(error: Error) -> None:
    for language in ("ru", "en"):
        with translation.override(language):
            jsonschema.validate(refusal_example(error), strict(object_of(error_fields())))


@pytest.mark.parametrize("digits", scripted_numbers.OUTCOMES)
def test_number_plays_the_part_that_is_written_down(
    dispatcher: Dispatcher, test_api: Api, digits: str
) -> None:
    _words, error = scripted_numbers.OUTCOMES[digits]

    response = test_api.post("/otp/send", {"phone": f"+7999000{digits}"})

    assert response.status == (error.status if error else 200)
    assert response.body.get("code") == (error.code if error else None)
    if error:
        extra = set(response.body) - {"success", "code", "message", "request_id"}
        assert extra == set(error.extra_fields)


def test_results_of_checks_have_the_documented_fields(test_api: Api) -> None:
    test_api.post("/otp/send", {"phone": PHONE})

    wrong = test_api.post("/otp/verify", {"phone": PHONE, "code": "0000"})
    faulty = test_api.post("/links/shorten", {"url": "http://10.0.0.1/"})

    for response, error in ((wrong, Error.CODE_INVALID), (faulty, Error.URL_NOT_ALLOWED)):
        assert set(response.body) == set(refusal_example(error))


def test_limits_page_shows_what_is_set() -> None:
    shown = numbers()

    assert shown["code_limits"] == settings.CODE_LIMITS
    assert shown["api_rate"] == settings.API_RATE
    assert dict(shown["prices"])["SMS"] == settings.PRICES["sms"]


def test_events_have_the_data_that_are_written_down(dispatcher: Dispatcher, test_api: Api) -> None:
    EndpointFactory.create(company=test_api.company, mode="test", kinds=list(EventKind.values))
    perform(test_api, BY_NAME["verifyCode"])
    wait_until(Event.objects.filter(kind=EventKind.OTP_VERIFIED).exists)  # the worker settles it

    sent_fields = {EventKind(event.kind): set(event.data) for event in Event.objects.all()}

    assert EventKind.MESSAGE_DELIVERED in sent_fields
    assert sent_fields == {kind: set(webhook_events.data_of(kind)) for kind in sent_fields}


def test_published_webhook_signature_verifies() -> None:
    signed = webhook_events.signed_example()

    with time_machine.travel(webhook_events.SIGNED_AT, tick=False):
        verified = Webhook(signed.secret).verify(signed.body, signed.headers)

    assert verified["type"] == "balance.low"
