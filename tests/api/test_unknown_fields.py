"""Fields that a call does not have: named in the answer, refused on request."""

from typing import Any

import orjson
import pytest

from api.calls import Call
from api_docs.calls import CALLS
from channels.models import Message
from tests.api.calling import BODIES, NEEDS_LIVE_KEY, path_of
from tests.api.clients import Api, ApiResponse

PHONE = "+79161234567"
URL = "https://example.com/"
WITH_BODY = [call for call in CALLS if call.has_body]
MISSPELT = {"code": "unknown_field", "field": "chanel", "did_you_mean": "channel"}
OF_A_CODE = {"verifyCode", "reportEntered"}  # that was not sent
STRICT = {"Kvitok-Strict": "1"}

pytestmark = pytest.mark.usefixtures("dispatcher", "price_list")


def perform(api: Api, call: Call, body: dict[str, Any], **headers: str) -> ApiResponse:
    return api.call(call.method, path_of(api, call), orjson.dumps(body), **headers)


def good(call: Call) -> dict[str, Any]:
    """A valid body of the call."""
    if call.name in OF_A_CODE:
        return {"phone": PHONE, "code": "000000"}
    return BODIES.get(call.name, {})


@pytest.mark.parametrize("call", WITH_BODY, ids=lambda call: call.name)
def test_every_call_with_a_body_names_unknown_fields(api: Api, test_api: Api, call: Call) -> None:
    caller = api if call.scope in NEEDS_LIVE_KEY else test_api

    response = perform(caller, call, good(call) | {"zzz": 1})

    assert response.body["warnings"] == [{"code": "unknown_field", "field": "zzz"}]
    assert response.body["success"] is (call.name not in OF_A_CODE)


@pytest.mark.parametrize("call", WITH_BODY, ids=lambda call: call.name)
def test_every_call_with_a_body_refuses_unknown_fields_on_request(
    api: Api, test_api: Api, call: Call
) -> None:
    caller = api if call.scope in NEEDS_LIVE_KEY else test_api

    response = perform(caller, call, good(call) | {"zzz": 1, "yyy": None}, **STRICT)

    assert (response.status, response.code) == (422, "invalid_input")
    assert set(response.body["errors"]) == {"zzz", "yyy"}


def test_misspelt_field_of_a_send_is_named_with_the_right_one(test_api: Api) -> None:
    response = test_api.post("/otp/send", {"phone": PHONE, "chanel": "sms", "linkUntil": "code"})

    assert response.body["warnings"] == [
        MISSPELT,
        {"code": "unknown_field", "field": "linkUntil", "did_you_mean": "link_until"},
    ]
    assert "warnings" not in test_api.post("/otp/send", {"phone": PHONE, "channel": "sms"}).body


def test_strict_send_names_the_intended_field(api: Api) -> None:
    body = {"phone": PHONE, "chanel": "sms", "porpose": "login"}

    response = api.post("/otp/send", body, **STRICT)

    assert response.body["errors"] == {
        "chanel": ["Нет такого параметра; может быть, channel?"],
        "porpose": ["Нет такого параметра; может быть, purpose?"],
    }
    assert not Message.objects.exists()
    assert api.post("/otp/send", {"phone": PHONE, "channel": "sms"}, **STRICT).status == 200
    assert api.post("/otp/send", body | {"phone": "12"}, kvitok_strict="0").code == "invalid_phone"


def test_fields_of_listed_objects_are_named_by_their_path(test_api: Api) -> None:
    links = [{"url": URL, "alais": "sale"}, {"url": URL, "alais": "sale2"}, 7]

    response = test_api.post("/links/bulk", {"links": links})
    refused = test_api.post("/links/bulk", {"links": links}, **STRICT)

    assert response.body["warnings"] == [
        {"code": "unknown_field", "field": "links[].alais", "did_you_mean": "links[].alias"}
    ]
    assert list(refused.body["errors"]) == ["links[].alais"]


def test_refusals_name_unknown_fields_too(test_api: Api) -> None:
    """A misspelt `phnoe` is why the phone is missing."""
    response = test_api.post("/otp/send", {"phnoe": PHONE})

    assert list(response.body["errors"]) == ["phone"]
    assert [warning["did_you_mean"] for warning in response.body["warnings"]] == ["phone"]


@pytest.mark.parametrize("path", ["/otp/send", "/links/send", "/links/shorten"])
def test_replay_answers_the_same(test_api: Api, path: str) -> None:
    body = {"phone": PHONE, "url": URL, "chanel": "sms"}

    first, second = (test_api.post(path, body, idempotency_key="once") for _ in range(2))

    assert (first.status, second.headers["Idempotent-Replayed"]) == (200, "true")
    assert first.raw == second.raw
    assert "chanel" in {warning["field"] for warning in second.body["warnings"]}


POSTED = [call for call in CALLS if call.method == "POST" and call.body]


@pytest.mark.parametrize("call", POSTED, ids=lambda call: call.name)
def test_empty_optional_text_counts_as_absent(api: Api, test_api: Api, call: Call) -> None:
    """Fields with a format, such as an id or a custom code, refuse an empty text."""
    caller = api if call.scope in NEEDS_LIVE_KEY else test_api
    empty = {
        field.name: ""
        for field in call.body
        if field.schema["type"] == "string"
        and not field.required
        and not {"enum", "pattern"} & field.schema.keys()
    }

    response = perform(caller, call, empty | good(call))

    assert response.status == (422 if call.name in OF_A_CODE else 200), response.body
    assert "errors" not in response.body


def test_code_sent_for_an_empty_purpose_is_verified_without_one(test_api: Api) -> None:
    test_api.post("/otp/send", {"phone": PHONE, "purpose": ""})
    code = test_api.get("/test/messages").body["data"][0]["code"]

    assert test_api.post("/otp/verify", {"phone": PHONE, "code": code}).status == 200
    assert test_api.post("/otp/verify", {"phone": PHONE, "code": code, "purpose": ""}).code == (
        "code_used"
    )
