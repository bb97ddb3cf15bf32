from datetime import UTC, datetime
from typing import Any

import httpx
import orjson
import pytest
import responses
from pywa.client import WhatsApp
from pywa.types.templates import BodyText, CopyCodeOTPButton, TemplateLanguage, URLButton
from pywa.utils import webhook_updates_validator

from channels.providers.base import (
    AmbiguousError,
    Content,
    Inbound,
    InvalidSignatureError,
    Outgoing,
    Receipt,
    ReceiptState,
    RefusedError,
    SendError,
    ThrottledError,
    TransientError,
    UnreachableError,
)
from tests.channels.providers.vendors import (
    VENDORS,
    body_of,
    code_with_link,
    link,
    message,
    meta_call,
    payload,
    whatsapp,
)

URL = VENDORS["whatsapp_cloud"].send_url
ACCEPTED = VENDORS["whatsapp_cloud"].accepted
BODY: Any = BodyText.params  # annotated to take itself
WAMID = "wamid.HBgLMTY1MDU1NTEyMzQVAgARGBI5QTNDQTVCM0Q0Q0Q2RTY3RTcA"


def sent(wire: responses.RequestsMock, outgoing: Outgoing, **settings: Any) -> dict[str, Any]:
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
    assert sent(wire, message()) == {
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

    body = sent(wire, outgoing)

    text = "Ваш документ: здесь https://l.example.com/bcdfghjk"
    assert body["template"] == template("short_link", "ru", [text], "bcdfghjk")


def test_code_with_link_names_the_brand(wire: responses.RequestsMock) -> None:
    body = sent(wire, code_with_link(locale="en", brand="Demo\nShop"))

    expected = template("code_with_link", "en", ["482915", "Demo Shop"], "bcdfghjkmn")
    assert body["template"] == expected


@pytest.mark.parametrize(
    ("setting", "lost"),
    [
        ("code_link_template", Content.CODE_WITH_LINK),
        ("link_template", Content.LINK),
        ("code_template", Content.CODE),
    ],
)
def test_a_template_that_is_not_there_carries_nothing(setting: str, lost: Content) -> None:
    provider = whatsapp(**{setting: ""})

    assert provider.capabilities.contents == frozenset(Content) - {lost}


def pywa_sends(name: str, language: str, params: list[Any]) -> dict[str, Any]:
    seen: list[bytes] = []

    def vendor(request: httpx.Request) -> httpx.Response:
        seen.append(request.content)
        return httpx.Response(200, content=ACCEPTED)

    with httpx.Client(transport=httpx.MockTransport(vendor)) as session:
        client = WhatsApp(phone_id="106540352242922", token="t", session=session)
        tongue = TemplateLanguage(language)
        client.send_template("998901234567", name, tongue, params, tracker="att-1")
    body: dict[str, Any] = orjson.loads(seen[0])
    for component in body["template"]["components"]:  # Meta takes either spelling
        component["type"] = component["type"].lower()
        if "index" in component:
            component["index"] = str(component["index"])
            component["sub_type"] = component["sub_type"].lower()
    return body


def test_pywa_sends_the_same_code(wire: responses.RequestsMock) -> None:
    params = [BODY("482915"), CopyCodeOTPButton.params(otp="482915")]

    assert sent(wire, message()) == pywa_sends("verification_code", "ru", params)


def test_pywa_sends_the_same_link(wire: responses.RequestsMock) -> None:
    outgoing = link(locale="en", text="Your document")
    params = [BODY("Your document"), URLButton.params(url_variable="bcdfghjk", index=0)]

    assert sent(wire, outgoing) == pywa_sends("short_link", "en", params)


def test_an_acceptance_without_an_id_is_ambiguous(wire: responses.RequestsMock) -> None:
    error = refused(wire, b'{"messaging_product":"whatsapp","messages":[{}]}', 200)

    assert error.code == "http_200"


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("error_rate_limit_2026-09.json", (ThrottledError, "130429", True)),
        ("error_undeliverable_2026-09.json", (UnreachableError, "131026", False)),
        ("error_token_expired_2026-09.json", (RefusedError, "190", True)),
    ],
)
@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_meta_errors_are_judged_by_code_not_by_status(
    wire: responses.RequestsMock, name: str, verdict: tuple[type[SendError], str, bool], status: int
) -> None:
    error = refused(wire, payload("whatsapp_cloud", name), status)

    assert (type(error), error.code, error.account) == verdict
    assert error.detail


@pytest.mark.parametrize(
    ("code", "kind", "account"),
    [
        *((code, UnreachableError, False) for code in (131021, 131026, 131049, 130472, 131050)),
        *((code, RefusedError, False) for code in (33, 100, 131008, 131009, 131047, 131030)),
        *((code, RefusedError, False) for code in (132000, 132001, 132005, 132007, 132012)),
        *((code, RefusedError, False) for code in (132015, 132016, 130497)),
        *((code, RefusedError, True) for code in (0, 3, 10, 190, 200, 299, 368, 131031)),
        *((code, RefusedError, True) for code in (131037, 131042, 131045, 133010)),
        *((code, TransientError, False) for code in (1, 2, 131000, 131016, 133004)),
        (131057, TransientError, True),
        *((code, ThrottledError, True) for code in (4, 80007, 130429, 131048)),
        (131056, ThrottledError, False),
        (999999, TransientError, False),
    ],
)
def test_every_documented_code_has_its_class(
    wire: responses.RequestsMock, code: int, kind: type[SendError], account: bool
) -> None:
    error = refused(wire, error_body(code))

    assert (type(error), error.code, error.account) == (kind, str(code), account)


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        (999999, 500, AmbiguousError),
        (999999, 503, AmbiguousError),
        (999999, 404, TransientError),
        (131000, 500, TransientError),
        (2, 503, TransientError),
    ],
)
def test_an_unknown_code_is_transient_unless_meta_broke(
    wire: responses.RequestsMock, code: int, status: int, kind: type[SendError]
) -> None:
    error = refused(wire, error_body(code), status)

    assert (type(error), error.code) == (kind, str(code))


def test_throttling_keeps_the_wait_meta_names(wire: responses.RequestsMock) -> None:
    wire.post(URL, body=error_body(130429), status=400, headers={"Retry-After": "12"})

    with pytest.raises(ThrottledError) as caught:
        whatsapp().send(message())

    assert caught.value.retry_after == 12


def test_reads_a_delivered_status() -> None:
    call = meta_call(payload("whatsapp_cloud", "status_delivered_2026-09.json"))

    assert whatsapp().receipts(call) == [
        Receipt(
            provider_id=WAMID,
            ref="att-1",
            state=ReceiptState.DELIVERED,
            word="delivered",
            at=datetime(2025, 6, 15, 23, 27, 53, tzinfo=UTC),
        )
    ]


def test_reads_why_a_message_failed() -> None:
    call = meta_call(payload("whatsapp_cloud", "status_failed_2026-09.json"))

    assert whatsapp().receipts(call) == [
        Receipt(
            provider_id=WAMID,
            ref="att-1",
            state=ReceiptState.UNREACHABLE,
            word="failed",
            at=datetime(2025, 6, 15, 23, 28, tzinfo=UTC),
            error_code="131026",
            error_detail="Message Undeliverable.",
        )
    ]


@pytest.mark.parametrize(
    ("code", "state"),
    [
        *((code, ReceiptState.UNREACHABLE) for code in (131021, 131026, 131049, 130472, 131050)),
        *((code, ReceiptState.FAILED) for code in (131047, 131000, 131053, "words", None)),
    ],
)
def test_a_failure_says_whether_the_person_can_be_reached(
    code: int | str | None, state: ReceiptState
) -> None:
    told = orjson.loads(payload("whatsapp_cloud", "status_failed_2026-09.json"))
    status = told["entry"][0]["changes"][0]["value"]["statuses"][0]
    status["errors"] = [{"code": code}]

    (receipt,) = whatsapp().receipts(meta_call(orjson.dumps(told)))

    assert (receipt.state, receipt.word) == (state, "failed")


def test_reads_all_statuses_of_a_batch_and_nothing_else() -> None:
    call = meta_call(payload("whatsapp_cloud", "batch_2026-09.json"))

    read = [(r.provider_id, r.ref, r.state) for r in whatsapp().receipts(call)]

    assert read == [
        ("wamid.A", "att-1", ReceiptState.SENT),
        ("wamid.B", "att-2", ReceiptState.READ),
        ("wamid.D", None, ReceiptState.DELIVERED),
    ]


def test_an_out_of_band_error_is_no_receipt() -> None:
    call = meta_call(payload("whatsapp_cloud", "out_of_band_error_2026-09.json"))

    assert whatsapp().receipts(call) == []


def test_agrees_with_the_published_signature() -> None:
    body = b'{"object":"whatsapp_business_account","entry":[]}'
    digest = "02fe0c96d28c59ddb7cf81eff0ca05809b360ba73b63c28210b5906a0a107d1f"
    call = Inbound("", {"x-hub-signature-256": f"sha256={digest}"}, body)

    assert whatsapp(app_secret="app_secret_123").receipts(call) == []
    assert webhook_updates_validator("app_secret_123", body, f"sha256={digest}")


def test_a_signature_without_its_algorithm_is_refused() -> None:
    call = meta_call(payload("whatsapp_cloud", "status_delivered_2026-09.json"))
    bare = call.headers["X-Hub-Signature-256"].removeprefix("sha256=")

    with pytest.raises(InvalidSignatureError):
        whatsapp().receipts(Inbound(call.url, {"X-Hub-Signature-256": bare}, call.body))


HANDSHAKE = {
    "hub.mode": "subscribe",
    "hub.challenge": "1158201444",
    "hub.verify_token": "whatsapp-verify-token",
}


def test_answers_the_handshake_with_its_challenge() -> None:
    assert whatsapp().handshake(HANDSHAKE) == "1158201444"


@pytest.mark.parametrize(
    "change",
    [{"hub.verify_token": "wrong"}, {"hub.verify_token": ""}, {"hub.mode": "unsubscribe"}],
)
def test_answers_no_stranger(change: dict[str, str]) -> None:
    assert whatsapp().handshake(HANDSHAKE | change) is None


def test_without_a_verify_token_there_is_no_handshake() -> None:
    assert whatsapp(verify_token="").handshake(HANDSHAKE | {"hub.verify_token": ""}) is None
