"""Independent client libraries build the requests we build, and accept the webhooks we accept."""

from collections.abc import Callable
from typing import Any

import httpx
import orjson
import pytest
import responses
from pywa.client import WhatsApp
from pywa.types.templates import BodyText, CopyCodeOTPButton, TemplateLanguage, URLButton
from pywa.utils import webhook_updates_validator
from twilio.request_validator import RequestValidator

from channels.providers.base import Outgoing
from channels.providers.inbound import InvalidSignatureError, WebhookRequest
from tests.channels.providers.vendors import (
    CODE,
    META_SECRET,
    TWILIO_TOKEN,
    VENDORS,
    body_of,
    code_with_link,
    link,
    message,
    meta_call,
    payload,
    twilio,
    twilio_call,
    whatsapp,
)

BODY: Any = BodyText.params  # annotated to take itself
ACCEPTED = VENDORS["whatsapp_cloud"].accepted
LANGUAGES = {"ru": TemplateLanguage.RUSSIAN, "en": TemplateLanguage.ENGLISH_US}
META = [
    "batch_2026-09.json",
    "status_delivered_2026-09.json",
    "status_failed_2026-09.json",
    "status_without_phone_2026-11.json",
    "template_paused_2026-11.json",
]


def pywa_sends(name: str, language: TemplateLanguage, params: list[Any]) -> dict[str, Any]:
    seen: list[bytes] = []

    def vendor(request: httpx.Request) -> httpx.Response:
        seen.append(request.content)
        return httpx.Response(200, content=ACCEPTED)

    with httpx.Client(transport=httpx.MockTransport(vendor)) as session:
        client = WhatsApp(phone_id="106540352242922", token="t", session=session)
        client.send_template("998901234567", name, language, params, tracker="att-1")
    body: dict[str, Any] = orjson.loads(seen[0])
    for component in body["template"]["components"]:  # Meta takes either spelling
        component["type"] = component["type"].lower()
        if "index" in component:
            component["index"] = str(component["index"])
            component["sub_type"] = component["sub_type"].lower()
    return body


def we_send(wire: responses.RequestsMock, outgoing: Outgoing) -> dict[str, Any]:
    wire.post(VENDORS["whatsapp_cloud"].send_url, body=ACCEPTED)
    whatsapp().send(outgoing)
    body: dict[str, Any] = orjson.loads(body_of(wire.calls[0].request))
    return body


def button(slug: str) -> Any:
    return URLButton.params(url_variable=slug, index=0)


Make = Callable[..., Outgoing]


@pytest.mark.parametrize("locale", LANGUAGES)
@pytest.mark.parametrize(
    ("make", "name", "params"),
    [
        (message, "verification_code", [BODY(CODE), CopyCodeOTPButton.params(otp=CODE)]),
        (link, "short_link", [BODY("Demo text"), button("bcdfghjk")]),
        (code_with_link, "code_with_link", [BODY(CODE, "Demo"), button("bcdfghjkmn")]),
    ],
)
def test_pywa_fills_the_same_templates(
    wire: responses.RequestsMock, locale: str, make: Make, name: str, params: list[Any]
) -> None:
    outgoing = make(locale=locale, text="Demo text")

    assert we_send(wire, outgoing) == pywa_sends(name, LANGUAGES[locale], params)


@pytest.mark.parametrize("file", META)
def test_pywa_believes_the_calls_that_we_believe(file: str) -> None:
    body = payload("whatsapp_cloud", file)
    call = meta_call(body)
    signature = call.headers["X-Hub-Signature-256"]

    assert webhook_updates_validator(META_SECRET, body, signature)
    assert isinstance(whatsapp().read(call).receipts, list)


@pytest.mark.parametrize("file", META)
def test_pywa_refuses_a_flipped_byte_as_we_do(file: str) -> None:
    body = payload("whatsapp_cloud", file)
    call = meta_call(body)
    signature = call.headers["X-Hub-Signature-256"]

    for index in (0, len(body) // 2, len(body) - 1):
        flipped = body[:index] + bytes([body[index] ^ 1]) + body[index + 1 :]
        assert not webhook_updates_validator(META_SECRET, flipped, signature)
        with pytest.raises(InvalidSignatureError):
            whatsapp().read(WebhookRequest(call.url, call.headers, flipped))


def twilio_believes(call: WebhookRequest, form: dict[str, str]) -> bool:
    validator = RequestValidator(TWILIO_TOKEN)  # type: ignore[no-untyped-call]
    signature = call.headers["X-Twilio-Signature"]
    return bool(validator.validate(call.url, form, signature))  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    "url",
    [
        "https://kvitok.example.com/hooks/twilio?ref=att-1",
        "https://kvitok.example.com:443/hooks/twilio?ref=att-1",
        "https://kvitok.example.com/hooks/twilio",
    ],
)
@pytest.mark.parametrize("word", ["delivered", "undelivered"])
def test_twilios_own_validator_agrees(url: str, word: str) -> None:
    call = twilio_call(f"MessageSid=SM1&MessageStatus={word}&To=%2B15005550006".encode(), url=url)
    form = {"MessageSid": "SM1", "MessageStatus": word, "To": "+15005550006"}

    assert twilio_believes(call, form)
    assert [receipt.word for receipt in twilio().read(call).receipts] == [word]
    assert not twilio_believes(call, form | {"To": "+15005550007"})
