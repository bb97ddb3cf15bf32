"""Independent client libraries build the requests we build, and accept the webhooks we accept."""

from collections.abc import Callable
from typing import Any

import httpx
import orjson
import pytest
import responses
from pywa.client import WhatsApp
from pywa.types.templates import BodyText, CopyCodeOTPButton, TemplateLanguage, URLButton

from channels.providers.base import Outgoing
from tests.channels.providers.vendors import (
    CODE,
    VENDORS,
    body_of,
    code_with_link,
    link,
    message,
    whatsapp,
)

BODY: Any = BodyText.params  # annotated to take itself
ACCEPTED = VENDORS["whatsapp_cloud"].accepted
LANGUAGES = {"ru": TemplateLanguage.RUSSIAN, "en": TemplateLanguage.ENGLISH_US}


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
