"""Every example of the schema and of the pages, sent."""

import re
from typing import Any

import orjson
import pytest
from django.test import Client

from api.calls import Call
from api_docs.calls import CALLS
from api_docs.pages.page_list import PAGES
from api_docs.schema.schema import refusal_example, rendered
from catalogue.errors import Error
from channels.routing import scripted_numbers
from tests.api.calling import BY_NAME, NEEDS_LIVE_KEY, PHONE, path_of, perform
from tests.api.clients import Api
from tests.api_docs.reading import LANGUAGES

pytestmark = pytest.mark.usefixtures("dispatcher", "price_list")
WITH_BODY = [call for call in CALLS if call.has_body]
CURL = re.compile(
    r'curl (?:-X \w+ )?"\$KVITOK_URL(?P<path>/[^"]*)"(?P<options>(?: \\\n.*?(?= \\$|$))+)',
    re.MULTILINE,
)
BODY = re.compile(r"-d '(\{.*\})'")


def code_on_the_phone(api: Api) -> str:
    return str(api.get("/test/messages", {"phone": PHONE}).body["data"][0]["code"])


def shape(value: Any) -> Any:
    """Returns the names of the fields; for a list those of its first item."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return None


def example_of_request(call: Call) -> dict[str, Any] | None:
    made = orjson.loads(rendered("ru"))["paths"][call.path][call.method.lower()]
    example: dict[str, Any] | None
    example = made["requestBody"]["content"]["application/json"].get("example")
    return example


@pytest.mark.parametrize("call", WITH_BODY, ids=lambda call: call.name)
def test_example_of_a_request_is_accepted(api: Api, test_api: Api, call: Call) -> None:
    example = example_of_request(call)
    caller = api if call.scope in NEEDS_LIVE_KEY else test_api
    if call.name == "verifyCode":
        perform(caller, BY_NAME["sendCode"])
        example = {**(example or {}), "code": code_on_the_phone(caller)}

    if call.name == "reportEntered":
        caller.post("/otp/send", example)

    response = caller.call(
        call.method, path_of(caller, call), b"" if example is None else orjson.dumps(example)
    )

    assert (response.status, example) == (200, example), response.body
    assert example or not call.body
    if call.name != "replacePolicy":  # the rules that are left out are null, not absent
        assert shape(response.body) == shape(call.response_example())


def test_example_of_a_disabled_link_is_of_a_disabled_link(test_api: Api) -> None:
    response = perform(test_api, BY_NAME["disableLink"])

    assert (
        response.body["state"] == BY_NAME["disableLink"].response_example()["state"] == "disabled"
    )


REFUSED: dict[Error, tuple[str, dict[str, Any]]] = {
    Error.INVALID_INPUT: ("/otp/send", {}),
    Error.INVALID_PHONE: ("/otp/send", {"phone": "+7 12"}),
    Error.INSUFFICIENT_TOKENS: ("/otp/send", {"phone": "+79990000002"}),
    Error.RECIPIENT_UNREACHABLE: ("/otp/send", {"phone": "+79990000003"}),
    Error.RESEND_TOO_SOON: ("/otp/send", {"phone": "+79990000005"}),
    Error.DELIVERY_FAILED: ("/otp/send", {"phone": "+79990000008"}),
    Error.SEND_LIMIT: ("/otp/send", {"phone": "+79990000011"}),
    Error.TOO_MANY_ATTEMPTS: ("/otp/send", {"phone": "+79990000012"}),
    Error.CHANNEL_UNAVAILABLE: ("/otp/send", {"phone": "+79990000013"}),
    Error.COUNTRY_NOT_ALLOWED: ("/otp/send", {"phone": "+79990000014"}),
    Error.CHALLENGE_REQUIRED: ("/otp/send", {"phone": "+79990000015"}),
    Error.URL_NOT_ALLOWED: ("/links/shorten", {"url": "http://10.0.0.1/"}),
    Error.CODE_NOT_FOUND: ("/otp/verify", {"phone": PHONE, "code": "482915"}),
}


@pytest.mark.parametrize("error", REFUSED, ids=lambda error: error.code)
def test_example_of_a_refusal_is_what_is_answered(test_api: Api, error: Error) -> None:
    path, body = REFUSED[error]

    response = test_api.post(path, body)

    example = refusal_example(error)
    assert {name: response.body[name] for name in ("success", "code", "message")} == {
        name: example[name] for name in ("success", "code", "message")
    }
    assert set(response.body) == set(example)
    assert response.body.get("errors") == example.get("errors")


@pytest.mark.parametrize("digits", scripted_numbers.OUTCOMES)
@pytest.mark.parametrize("name", ["sendCode", "sendLink"])
def test_every_answer_to_a_test_number_is_declared(test_api: Api, name: str, digits: str) -> None:
    call = BY_NAME[name]
    body = call.request_example() | {"phone": f"+7999000{digits}"}

    response = test_api.post(call.path, body)

    declared = {error.code for error in call.specific_errors}
    assert response.status == 200 or response.code in declared


def curls(page: str, language: str) -> list[tuple[str, str]]:
    """(path, body) of each call that a page shows."""
    text = Client().get(f"/docs/{page}.md?lang={language}").content.decode()
    result = [(match["path"], BODY.search(match["options"])) for match in CURL.finditer(text)]
    return [(path, body[1]) for path, body in result if body]


@pytest.mark.parametrize("language", LANGUAGES)
def test_calls_of_the_pages_are_accepted(test_api: Api, language: str) -> None:
    pages = [page.slug for page in PAGES if page.slug != "calls"]  # those are the schema's examples
    shown = [curl for slug in pages for curl in curls(slug, language)]
    assert {path for path, _body in shown} >= {"/otp/send", "/otp/verify", "/links/send"}

    for path, text in dict.fromkeys(shown):
        if path == "/otp/verify":
            perform(test_api, BY_NAME["sendCode"])
            text = text.replace("'\"$CODE\"'", code_on_the_phone(test_api))  # noqa: PLW2901
        response = test_api.call("POST", path, text.encode())

        is_challenged = '0015"' in text
        assert response.body.get("code") == ("challenge_required" if is_challenged else None), text
        assert "warnings" not in response.body
