"""STOP, and START afterwards: by whichever channel, and only as the person's own whole word."""

import pytest
from django.conf import settings
from django.test import Client

from channels import opting_out
from channels.models import BlockedPhone
from channels.providers.base import Inbound, Reply
from tests.api.clients import Api
from tests.channels.providers.vendors import meta_call, payload, twilio, twilio_call, whatsapp

pytestmark = pytest.mark.django_db

PHONE = "+79161234567"


def hear(text: str, phone: str = PHONE) -> None:
    opting_out.heed("twilio", Reply(phone, text))


def is_blocked(phone: str = PHONE) -> bool:
    return BlockedPhone.objects.filter(phone=phone).exists()


@pytest.mark.parametrize(
    "text",
    ["STOP", " stop.\n", "Stop!", "«СТОП»", "Отписаться", "UNSUBSCRIBE", "StopAll", "stop\0"],
)
def test_words_that_stop(text: str) -> None:
    hear(text)

    assert BlockedPhone.objects.get().said_stop
    assert BlockedPhone.objects.get().reason == "STOP, Twilio"


@pytest.mark.parametrize(
    "text", ["", "stop it, please?", "не стоп", "START", "хватит", "s t o p", "123456", "stop" * 99]
)
def test_anything_else_stops_nothing(text: str) -> None:
    hear(text)

    assert not is_blocked()


def test_who_said_stop_is_sent_nothing_until_they_say_start(api: Api) -> None:
    hear("STOP")
    hear("STOP")
    refused = [
        api.post("/otp/send", {"phone": PHONE, "channel": channel})
        for channel in ("whatsapp", "sms")
    ]
    hear("Старт")
    hear("START")

    assert [one.code for one in refused] == ["recipient_unreachable"] * 2
    assert api.post("/otp/send", {"phone": PHONE}).status == 200


def test_start_does_not_lift_what_the_operator_has_set() -> None:
    BlockedPhone.objects.create(phone=PHONE, reason="a complaint")

    hear("STOP")
    hear("START")

    assert is_blocked()


def test_replies_by_whatsapp_typed_or_by_a_button() -> None:
    call = meta_call(payload("whatsapp_cloud", "message_stop_2026-11.json"))

    assert whatsapp().replies(call) == [
        Reply("+16315551234", "Стоп."),
        Reply("+16315551235", "STOP"),
    ]
    assert whatsapp().receipts(call) == []


@pytest.mark.parametrize(
    ("file", "said"),
    [("message_stop_2026-11.form", " Stop "), ("message_opt_out_2026-11.form", "STOP")],
)
def test_replies_by_twilio(file: str, said: str) -> None:
    call = twilio_call(payload("twilio", file))

    assert twilio().replies(call) == [Reply("+14155552345", said)]
    assert twilio().receipts(call) == []


def test_a_receipt_is_no_reply() -> None:
    assert twilio().replies(twilio_call(payload("twilio", "status_delivered_2026-09.form"))) == []


def test_both_vendors_calls_are_heeded_and_a_stranger_is_not() -> None:
    meta = meta_call(
        payload("whatsapp_cloud", "message_stop_2026-11.json"), settings.WHATSAPP["app_secret"]
    )
    sms = twilio_call(
        payload("twilio", "message_stop_2026-11.form"),
        settings.TWILIO["auth_token"],
        f"{settings.PUBLIC_URL}/hooks/twilio",
    )
    forged = Inbound(sms.url, {"X-Twilio-Signature": "forged"}, sms.body)

    assert _call("/hooks/twilio", forged) == 403
    assert not is_blocked("+14155552345")
    assert _call("/hooks/whatsapp", meta) == 200
    assert _call("/hooks/twilio", sms) == 200

    assert set(BlockedPhone.objects.values_list("phone", flat=True)) == {
        "+16315551234",
        "+16315551235",
        "+14155552345",
    }


def _call(path: str, call: Inbound) -> int:
    is_form = path.endswith("twilio")
    kind = "application/x-www-form-urlencoded" if is_form else "application/json"
    told = Client().post(path, call.body, content_type=kind, headers=dict(call.headers))
    return told.status_code
