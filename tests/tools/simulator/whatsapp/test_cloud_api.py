"""The simulated WhatsApp Cloud API, as clients of others use it."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import requests
from pywa.client import WhatsApp
from pywa.types.message_status import MessageStatus, MessageStatusType
from pywa.types.templates import (
    AuthenticationBody,
    BodyText,
    CopyCodeOTPButton,
    TemplateLanguage,
    URLButton,
)
from pywa.utils import webhook_updates_validator

from tests.tools.simulator.peers import ACCOUNT, Receiver, Simulator, post
from tests.tools.simulator.sends import WHATSAPP, send_whatsapp, template


def error(response: requests.Response) -> tuple[int, int]:
    received = response.json()["error"]
    assert {"message", "type", "code", "fbtrace_id"} <= received.keys()
    return response.status_code, received["code"]


@pytest.fixture
def meta_client(simulator: Simulator) -> Iterator[WhatsApp]:
    """A foreign client of the Cloud API, led to us."""
    with httpx.Client() as session:
        number = ACCOUNT["WHATSAPP_PHONE_NUMBER_ID"]
        token = ACCOUNT["WHATSAPP_TOKEN"]
        client = WhatsApp(number, token, session=session)
        session.base_url = httpx.URL(f"{simulator.url}/whatsapp/v25.0")
        yield client


def test_receipts_are_signed_and_echo_our_reference(
    simulator: Simulator, receiver: Receiver, phone: str
) -> None:
    wamid = send_whatsapp(simulator, phone).json()["messages"][0]["id"]

    received = WHATSAPP.receipts(receiver, phone, 2)

    assert [receipt.vendor_status for receipt in received] == ["sent", "delivered"]
    for receipt in received:
        signature = receipt.hook.headers["x-hub-signature-256"]
        assert webhook_updates_validator(
            ACCOUNT["WHATSAPP_APP_SECRET"], receipt.hook.body, signature
        )
        status = receipt.hook.json["entry"][0]["changes"][0]["value"]["statuses"][0]
        assert (status["id"], status["biz_opaque_callback_data"]) == (wamid, f"ref-{phone}")
        assert status["pricing"]["category"] == "authentication"


def test_foreign_client_sends_code_and_link_and_reads_receipts(
    simulator: Simulator, receiver: Receiver, meta_client: WhatsApp, phone: str
) -> None:
    meta_client.send_template(
        phone,
        "verification_code",
        TemplateLanguage.ENGLISH_US,
        [AuthenticationBody.params(otp="4821"), CopyCodeOTPButton.params(otp="4821")],
        tracker="att-7",
    )
    meta_client.send_template(
        phone,
        "short_link",
        TemplateLanguage.RUSSIAN,
        [
            BodyText.params("Ваш полис"),  # type: ignore[arg-type]
            URLButton.params(url_variable="aB3xYz", index=0),
        ],
    )

    link, code = simulator.messages(phone)
    update: Any = WHATSAPP.receipts(receiver, phone, 4)[0].hook.json
    read = MessageStatus.from_update(meta_client, update)
    assert (code["code"], code["text"]) == ("4821", "4821 is your verification code.")
    assert link["text"] == (
        "Сообщение для вас: Ваш полис\nСсылка открывается кнопкой ниже.\n"
        "Открыть: https://kv.example/aB3xYz"
    )
    assert read.status is MessageStatusType.SENT
    assert read.tracker in {"att-7", None}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (
            template("verification_code", ["004821"], "004821"),
            ("004821 — ваш код подтверждения.", "004821", []),
        ),
        (
            template("code_with_link", ["4821", "Демо"], "aB3xYz12", "ru"),
            (
                "Ваш код подтверждения: 4821. Его запросили для Демо; никому его не сообщайте.\n"
                "Открыть: https://kv.example/aB3xYz12",
                "4821",
                ["https://kv.example/aB3xYz12"],
            ),
        ),
        (
            template("short_link", ["See https://a.example/1"], "aB3xYz12", "en_US"),
            (
                "A message for you: See https://a.example/1\nThe button below opens the link.\n"
                "Open: https://kv.example/aB3xYz12",
                None,
                ["https://a.example/1", "https://kv.example/aB3xYz12"],
            ),
        ),
    ],
)
def test_phone_shows_what_the_person_reads(
    simulator: Simulator, phone: str, wanted: Any, expected: tuple[str, str | None, list[str]]
) -> None:
    assert send_whatsapp(simulator, phone, template=wanted).status_code == 200

    (message,) = simulator.messages(phone)
    assert (message["text"], message["code"], message["links"]) == expected
    assert (message["channel"], message["provider"]) == ("whatsapp", "whatsapp_cloud")


OTP = template("verification_code", ["123456"], "123456")
LONG_CODE = "1" * 16


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"messaging_product": None}, (400, 100)),
        ({"to": ""}, (400, 100)),
        ({"to": "12345"}, (400, 131009)),
        ({"to": 77010000001}, (400, 131009)),
        ({"to": "not a phone"}, (400, 131009)),
        ({"biz_opaque_callback_data": "x" * 513}, (400, 100)),
        ({"type": "text", "text": {"body": "hi"}}, (400, 131047)),
        ({"template": None}, (400, 100)),
        ({"template": [1]}, (400, 100)),
        ({"template": OTP | {"language": "ru"}}, (400, 131008)),
        ({"template": OTP | {"language": {"code": "de"}}}, (404, 132001)),
        ({"template": OTP | {"name": "unknown"}}, (404, 132001)),
        ({"template": OTP | {"components": []}}, (400, 131008)),
        ({"template": OTP | {"components": "none"}}, (400, 131008)),
        ({"template": OTP | {"components": OTP["components"][1:]}}, (400, 132000)),
        ({"template": OTP | {"components": OTP["components"][:1]}}, (400, 131008)),
        ({"template": OTP | {"components": [{"type": "header"}]}}, (400, 132012)),
        ({"template": template("verification_code", ["1", "2"], "1")}, (400, 132000)),
        ({"template": template("code_with_link", ["1234"], "slug")}, (400, 132000)),
        ({"template": template("verification_code", ["1234"], "4321")}, (400, 132012)),
        ({"template": template("verification_code", [LONG_CODE], LONG_CODE)}, (400, 131009)),
        ({"template": template("short_link", [""], "slug")}, (400, 131008)),
        ({"template": template("short_link", ["a\nb"], "slug")}, (400, 100)),
        ({"template": template("short_link", ["a\tb"], "slug")}, (400, 100)),
        ({"template": template("short_link", ["a    b"], "slug")}, (400, 100)),
        ({"template": template("short_link", ["x" * 1025], "slug")}, (400, 132005)),
        ({"template": template("short_link", ["x"], "a slug")}, (400, 131009)),
        ({"template": template("short_link", ["x"], "")}, (400, 131008)),
    ],
)
def test_malformed_send_is_refused(
    simulator: Simulator, phone: str, changed: dict[str, Any], expected: tuple[int, int]
) -> None:
    assert error(send_whatsapp(simulator, phone, **changed)) == expected
    assert simulator.messages(phone) == []


def test_reading_sends_a_read_receipt(simulator: Simulator, receiver: Receiver, phone: str) -> None:
    send_whatsapp(simulator, phone)
    WHATSAPP.receipts(receiver, phone, 2)
    number = simulator.messages(phone)[0]["id"]

    response = post(f"{simulator.url}/messages/{number}/read")

    assert response.json()["state"] == "read"
    assert WHATSAPP.words(receiver, phone, 3) == ["sent", "delivered", "read"]
    assert simulator.state(phone) == "read"
