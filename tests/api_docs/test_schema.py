"""The OpenAPI schema: complete, valid, in two languages, and public."""

import json
import re
from collections import Counter
from typing import Any

import pytest
from django.test import Client
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

import config.api_urls
from api.calls import Call
from api_docs.calls import CALLS
from api_docs.schema import webhook_events
from api_docs.schema.schema import rendered
from catalogue.errors import Error
from webhooks.events import declaration_of
from webhooks.models import EventKind

LANGUAGES = ["ru", "en"]
ROUTES = {(call.method, call.path) for call in CALLS}


def schema(language: str) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(rendered(language))
    return made


def test_views_answer_only_declared_methods() -> None:
    for view in config.api_urls.VIEWS:
        answered = {name.upper() for name in view.http_method_names if hasattr(view, name)}
        assert answered - {"HEAD"} == {call.method for call in view.calls}, view


def test_schema_describes_exactly_the_calls() -> None:
    answered = {(call.method, call.path) for view in config.api_urls.VIEWS for call in view.calls}
    assert answered == ROUTES


@pytest.mark.parametrize("language", LANGUAGES)
def test_schema_is_valid_openapi(language: str) -> None:
    made = schema(language)

    validate(made)
    operations = {
        (method.upper(), path) for path, calls in made["paths"].items() for method in calls
    }
    assert operations == ROUTES


def test_languages_differ_only_in_words() -> None:
    russian, english = (schema(language) for language in LANGUAGES)

    def bare(one: Any) -> Any:
        if isinstance(one, dict):
            worded = {"description", "summary", "x-displayName", "example", "examples"}
            return {name: bare(value) for name, value in one.items() if name not in worded}
        return [bare(value) for value in one] if isinstance(one, list) else one

    assert russian != english
    assert bare(russian) == bare(english)


def operations(part: str) -> list[dict[str, Any]]:
    return [call for calls in schema("ru")[part].values() for call in calls.values()]


def identifiers() -> list[str]:
    """The identifiers from which generators make files, classes, methods and fields."""
    made = schema("ru")
    result = [tag["name"] for tag in made["tags"]]
    for operation in operations("paths") + operations("webhooks"):
        result += [operation["operationId"], *operation["tags"]]
        result += [parameter["name"] for parameter in operation["parameters"]]
    for component in made["components"].values():
        result += component
    return result + [
        name for component in components().values() for name in component.get("properties", ())
    ]


def test_identifiers_are_ascii_words() -> None:
    assert [
        name for name in identifiers() if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name)
    ] == []


def test_every_operation_has_unique_name_and_described_tag() -> None:
    both = operations("paths") + operations("webhooks")
    ids = [operation["operationId"].lower() for operation in both]
    tags = {tag for operation in both for tag in operation["tags"]}

    assert len(set(ids)) == len(ids)
    assert tags == {tag["name"] for tag in schema("ru")["tags"]}


def test_events_have_no_tag_in_common_with_calls() -> None:
    """Generators write a file for each tag of each of the two; one would overwrite the other."""
    called, posted = (
        {tag for operation in operations(part) for tag in operation["tags"]}
        for part in ("paths", "webhooks")
    )

    assert (called & posted, posted) == (set(), {"events"})


def values_of(keyword: str, schema: Any) -> list[Any]:
    if isinstance(schema, dict):
        own = [schema[keyword]] if keyword in schema else []
        return own + [row for inner in schema.values() for row in values_of(keyword, inner)]
    return (
        [row for inner in schema for row in values_of(keyword, inner)]
        if isinstance(schema, list)
        else []
    )


def test_no_value_is_a_constant() -> None:
    """Generators for Python and Java write a boolean constant where a class belongs."""
    assert values_of("const", schema("ru")) == []


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_every_refusal_of_a_call_has_its_status(call: Call) -> None:
    responses = schema("ru")["paths"][call.path][call.method.lower()]["responses"]

    assert set(responses) == {"200", *(str(error.status.value) for error in call.errors)}


def components() -> dict[str, Any]:
    result: dict[str, Any] = schema("en")["components"]["schemas"]
    return result


def test_codes_are_an_open_set_with_the_known_ones_listed() -> None:
    code = components()["Error"]["properties"]["code"]

    assert "enum" not in code
    assert code["x-extensible-enum"] == [error.code for error in Error]
    assert all(f"`{error.code}`" in code["description"] for error in Error)


def references(schema: Any) -> list[str]:
    if isinstance(schema, dict):
        own = [schema["$ref"]] if isinstance(schema.get("$ref"), str) else []
        return own + [reference for value in schema.values() for reference in references(value)]
    return (
        [reference for value in schema for reference in references(value)]
        if isinstance(schema, list)
        else []
    )


def test_calls_share_named_components() -> None:
    """No call has an object or its own choice of values in its answer or its body."""
    made = schema("en")
    for calls in made["paths"].values():
        for call in calls.values():
            bodies = [*call["responses"].values(), call.get("requestBody", {"content": {}})]
            for body in bodies:
                for media in body["content"].values():
                    assert set(media["schema"]) == {"$ref"}

    link = "#/components/schemas/Link"
    users = {name for name, component in components().items() if link in references(component)}
    assert users == {"LinkResponse", "ListLinksResponse"}


def test_names_for_generators_are_there() -> None:
    names = {"Message", "Link", "Verification", "Event", "WebhookEndpoint", "TopUp", "Balance"}

    assert names <= set(components())


def test_no_schema_object_has_a_field_of_same_name() -> None:
    """Generators make a variable of each; typed ones then mix the two up."""
    mixed = {
        name
        for name, component in components().items()
        for field in component.get("properties", ())
        if field.replace("_", "") == name.lower()
    }

    assert mixed == set()


def test_no_field_has_a_default() -> None:
    """openapi-typescript then takes it for one that must be given."""
    assert '"default"' not in rendered("en")


def enums(schema: Any, name: str) -> list[tuple[str, Any]]:
    if isinstance(schema, dict):
        own = [(name, schema["enum"])] if "enum" in schema else []
        return own + [enum for key, value in schema.items() for enum in enums(value, key)]
    return (
        [enum for value in schema for enum in enums(value, name)]
        if isinstance(schema, list)
        else []
    )


def test_choices_of_values_are_made_once() -> None:
    counter = Counter(str(values) for _name, values in enums(components(), ""))

    assert [values for values, count in counter.items() if count > 1] == []


def test_top_up_takes_tokens_or_a_package() -> None:
    checked = Draft202012Validator(
        {"$ref": "#/components/schemas/CreateTopUpRequest"}
        | {"components": schema("en")["components"]}
    )

    assert checked.is_valid({"tokens": 1000})
    assert checked.is_valid({"package": "start", "gateway": None})
    assert checked.is_valid({"tokens": 1000, "package": None})
    assert not checked.is_valid({})
    assert not checked.is_valid({"tokens": 1000, "package": "start"})


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_answers_name_their_headers(call: Call) -> None:
    responses = schema("en")["paths"][call.path][call.method.lower()]["responses"]

    assert {"X-Request-Id", "RateLimit", "RateLimit-Policy"} <= set(responses["200"]["headers"])
    assert ("Idempotent-Replayed" in responses["200"]["headers"]) is (call.method == "POST")
    assert "Retry-After" in responses["429"]["headers"]
    assert set(responses["401"]["headers"]) == {"X-Request-Id", "WWW-Authenticate"}


def test_every_event_is_among_the_webhooks() -> None:
    posts = schema("en")["webhooks"]

    assert set(posts) == set(EventKind.values)
    for kind in EventKind:
        request = posts[kind.value]["post"]["requestBody"]["content"]["application/json"]
        body = {"$ref": request["schema"]["$ref"], "components": schema("en")["components"]}
        Draft202012Validator(body).validate(webhook_events.body_of(kind))


@pytest.mark.parametrize("kind", EventKind)
def test_event_has_the_fields_that_are_written_down(kind: EventKind) -> None:
    described = {field.name for field in declaration_of(kind).data}

    assert described - {"example"} == set(webhook_events.data_of(kind))


@pytest.mark.parametrize(
    ("address", "header", "word"),
    [
        ("", "", "Отправить код"),
        ("", "en", "Send a code"),
        ("?lang=en", "", "Send a code"),
        ("?lang=ru", "en", "Отправить код"),
        ("?lang=tlh", "", "Отправить код"),
    ],
)
def test_schema_is_public_in_the_requested_language(address: str, header: str, word: str) -> None:
    response = Client().get(f"/api/v1/openapi.json{address}", headers={"Accept-Language": header})

    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    assert response.json()["paths"]["/otp/send"]["post"]["summary"] == word


def test_other_methods_are_refused_in_the_envelope() -> None:
    response = Client().post("/api/v1/openapi.json")

    assert (response.status_code, response.json()["code"]) == (405, "method_not_allowed")
