"""WhatsApp's Cloud API: bodies as Meta and its client library have them, and Meta's errors."""

from collections.abc import Callable
from typing import Any

import httpx
import orjson
import pytest
import responses
from pywa.client import WhatsApp
from pywa.types.templates import BodyText, CopyCodeOTPButton, TemplateLanguage, URLButton

from channels.providers.base import (
    Accepted,
    Content,
    DestinationRefusedError,
    Outgoing,
    RefusedError,
    SendError,
    ThrottledError,
    TransientError,
    UnreachableError,
)
from channels.providers.inbound import AccountAlert, AlertKind
from tests.channels.providers.vendors import (
    CODE,
    VENDORS,
    body_of,
    code_with_link,
    link,
    message,
    payload,
    whatsapp,
)

URL = VENDORS["whatsapp_cloud"].send_url
ACCEPTED = VENDORS["whatsapp_cloud"].accepted
WAMID = "wamid.HBgLMTY1MDU1NTEyMzQVAgARGBI5QTNDQTVCM0Q0Q0Q2RTY3RTcA"


def sent_body(wire: responses.RequestsMock, outgoing: Outgoing, **settings: Any) -> dict[str, Any]:
    wire.post(URL, body=ACCEPTED)
    whatsapp(**settings).send(outgoing)
    body: dict[str, Any] = orjson.loads(body_of(wire.calls[0].request))
    return body


def template(name: str, locale: str, body: list[str], button: str) -> dict[str, Any]:
    return {
        "name": name,
        "language": {"code": locale},
        "components": [
            {"type": "body", "parameters": [{"type": "text", "text": text} for text in body]},
            {
                "type": "button",
                "sub_type": "url",
                "index": "0",
                "parameters": [{"type": "text", "text": button}],
            },
        ],
    }


def refused(wire: responses.RequestsMock, body: bytes, status: int = 400) -> SendError:
    wire.post(URL, body=body, status=status)
    with pytest.raises(SendError) as caught:
        whatsapp().send(message())
    return caught.value


def error_body(code: object) -> bytes:
    return orjson.dumps({"error": {"message": "(#1) Words", "code": code, "fbtrace_id": "A"}})


def test_code_fills_the_body_and_the_button(wire: responses.RequestsMock) -> None:
    assert sent_body(wire, message()) == {
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "to": "998901234567",
        "type": "template",
        "biz_opaque_callback_data": "att-1",
        "template": template("verification_code", "ru", ["482915"], "482915"),
    }
    assert wire.calls[0].request.headers["Authorization"] == "Bearer EAAwhatsapp-secret-token"
    assert wire.calls[0].request.headers["Content-Type"] == "application/json"


def test_link_puts_the_text_in_the_body_and_the_slug_on_the_button(
    wire: responses.RequestsMock,
) -> None:
    outgoing = link(text="Ваш\n\tдокумент:     здесь\u2028 https://l.example.com/bcdfghjk\n")

    body = sent_body(wire, outgoing)

    text = "Ваш документ: здесь https://l.example.com/bcdfghjk"
    assert body["template"] == template("short_link", "ru", [text], "bcdfghjk")


def test_code_with_link_names_the_brand(wire: responses.RequestsMock) -> None:
    body = sent_body(wire, code_with_link(locale="en", brand="Demo\nShop"))

    expected = template("code_with_link", "en_US", ["482915", "Demo Shop"], "bcdfghjkmn")
    assert body["template"] == expected


@pytest.mark.parametrize(
    ("setting", "lost"),
    [
        ("code_link_template", Content.CODE_WITH_LINK),
        ("link_template", Content.LINK),
        ("code_template", Content.CODE),
        ("code_template", Content.CUSTOM_DIGITS),
        ("code_template", Content.CUSTOM_CODE),
    ],
)
def test_missing_template_carries_nothing(setting: str, lost: Content) -> None:
    provider = whatsapp(**{setting: ""})

    assert lost not in provider.capabilities.contents
    assert lost in whatsapp().capabilities.contents


@pytest.mark.parametrize(("locale", "code"), [("ru", "ru"), ("en", "en_GB")])
def test_template_has_the_language_that_the_operator_made_it_in(
    wire: responses.RequestsMock, locale: str, code: str
) -> None:
    body = sent_body(wire, message(locale=locale), languages={"ru": "ru", "en": "en_GB"})

    assert body["template"]["language"] == {"code": code}


@pytest.mark.parametrize(
    ("tag", "language", "code"),
    [
        ("pt-AO", "pt-PT", "pt_PT"),
        ("pt-BR", "pt", "pt_BR"),
        ("zh-TW", "ru", "zh_TW"),  # ours has no texts in it
        ("kk-KZ", "kk", "ru"),  # by CLDR
        ("ja", "pt", "pt_BR"),  # the company's language
        ("ja", "ar", "ru"),  # the first
    ],
)
def test_template_is_looked_for_as_texts_are(
    wire: responses.RequestsMock, tag: str, language: str, code: str
) -> None:
    templates = {"ru": "ru", "pt": "pt_BR", "pt-PT": "pt_PT", "zh-Hant": "zh_TW"}
    locale = whatsapp(languages=templates).locale_for(tag, language)

    body = sent_body(wire, message(locale=locale), languages=templates)

    assert body["template"]["language"] == {"code": code}


@pytest.mark.parametrize(
    ("word", "alert"),
    [
        ("accepted", None),
        ("held_for_quality_assessment", AlertKind.TEMPLATE),
        ("paused", AlertKind.TEMPLATE),
        ("something new", None),
    ],
)
def test_message_held_by_meta_raises_an_alert(
    wire: responses.RequestsMock, word: str, alert: AlertKind | None
) -> None:
    taken = payload("whatsapp_cloud", "accepted_held_2026-11.json")
    wire.post(URL, body=taken.replace(b"held_for_quality_assessment", word.encode()))

    accepted = whatsapp().send(link())

    kept = AccountAlert(word, "short_link", alert) if alert else None
    assert (accepted.provider_id, accepted.alert) == (WAMID, kept)


def test_acceptance_keeps_the_whatsapp_id_of_the_recipient(wire: responses.RequestsMock) -> None:
    taken = {"messages": [{"id": WAMID}], "contacts": [{"input": "998901234567", "wa_id": "1555"}]}
    wire.post(URL, json=taken)

    assert whatsapp().send(message()) == Accepted(WAMID, recipient_id="1555")


def test_acceptance_without_an_id_is_ambiguous(wire: responses.RequestsMock) -> None:
    error = refused(wire, b'{"messaging_product":"whatsapp","messages":[{}]}', 200)

    assert error.code == "http_200"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("error_rate_limit_2026-09.json", (ThrottledError, "130429", True)),
        ("error_undeliverable_2026-09.json", (UnreachableError, "131026", False)),
        ("error_token_expired_2026-09.json", (RefusedError, "190", True)),
    ],
)
@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_meta_errors_are_classified_by_code_not_by_status(
    wire: responses.RequestsMock,
    name: str,
    expected: tuple[type[SendError], str, bool],
    status: int,
) -> None:
    error = refused(wire, payload("whatsapp_cloud", name), status)

    assert (type(error), error.code, error.account) == expected
    assert error.detail


@pytest.mark.parametrize(
    ("code", "kind", "account"),
    [
        *((code, UnreachableError, False) for code in (131021, 131026, 131049, 130472, 131050)),
        *((code, RefusedError, False) for code in (100, 131008, 131009, 131047, 131030)),
        *((code, RefusedError, False) for code in (132000, 132001, 132005, 132007, 132012)),
        *((code, RefusedError, False) for code in (131051, 131062, 131063, 132008, 135000)),
        *((code, RefusedError, False) for code in (132015, 132016)),
        (130497, DestinationRefusedError, True),
        *((code, RefusedError, True) for code in (0, 3, 10, 33, 190, 200, 299, 368, 131031)),
        *((code, RefusedError, True) for code in (131005, 131037, 131042, 131045, 133010)),
        *((code, TransientError, False) for code in (1, 2, 131000, 131016, 133004)),
        *((code, TransientError, True) for code in (131057, 2494100)),
        *((code, ThrottledError, True) for code in (4, 80007, 130429, 131048, 131064)),
        (131056, ThrottledError, False),
    ],
)
def test_every_documented_code_has_its_class(
    wire: responses.RequestsMock, code: int, kind: type[SendError], account: bool
) -> None:
    error = refused(wire, error_body(code))

    assert (type(error), error.code, error.account) == (kind, str(code), account)


@pytest.mark.parametrize(("subcode", "account"), [(33, True), (2494010, False)])
def test_unknown_sender_number_is_account_fault(
    wire: responses.RequestsMock, subcode: int, account: bool
) -> None:
    error = refused(
        wire, error_body(100).replace(b'"code"', b'"error_subcode":%d,"code"' % subcode)
    )

    assert (type(error), error.account) == (RefusedError, account)


@pytest.mark.parametrize(("code", "status"), [(131000, 500), (2, 503), (131016, 404)])
def test_known_code_counts_more_than_the_status(
    wire: responses.RequestsMock, code: int, status: int
) -> None:
    error = refused(wire, error_body(code), status)

    assert (type(error), error.code) == (TransientError, str(code))


def test_throttling_keeps_the_wait_meta_names(wire: responses.RequestsMock) -> None:
    wire.post(URL, body=error_body(130429), status=400, headers={"Retry-After": "12"})

    with pytest.raises(ThrottledError) as caught:
        whatsapp().send(message())

    assert caught.value.retry_after == 12


BODY: Any = BodyText.params  # annotated to take itself
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
