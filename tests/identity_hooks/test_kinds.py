"""Calls are read as each server's source writes them; payloads are dated by the source."""

import json
import time
from typing import Any
from urllib.parse import urlencode

import orjson
import pytest

from identity_hooks.hook_call import (
    FORM,
    CallRefusedError,
    HookCall,
    NothingToSendError,
    WantedMessage,
)
from identity_hooks.kind import HookOptions
from identity_hooks.kinds import kinds

AT = 1_795_176_000.0
JSON = {"content-type": "application/json"}


def read(kind: str, payload: dict[str, Any], **options: Any) -> WantedMessage:
    call = HookCall("POST", JSON, "", orjson.dumps(payload), AT)
    return kinds()[kind].read(call, HookOptions(**options))


def test_supabase_number_has_no_plus() -> None:
    """internal/hooks/v0hooks/v0hooks.go, 2026-08."""
    wanted = read(
        "supabase",
        {
            "metadata": {
                "uuid": "1b2c",
                "time": "2026-08-01T10:00:00Z",
                "name": "send-sms",
                "ip_address": "203.0.113.7",
            },
            "user": {"id": "u", "phone": "14155550123", "role": "authenticated"},
            "sms": {"otp": "561166", "phone": "79161234567", "sms_type": "mfa"},
        },
    )

    assert wanted == WantedMessage(
        phone="+79161234567",
        code="561166",
        purpose="mfa",
        ip="203.0.113.7",
    )


def supabase_of_2_179(**user: str) -> dict[str, Any]:
    """A payload without `sms.phone`, which has only the person's numbers."""
    return {"sms": {"otp": "561166"}, "user": user}


@pytest.mark.parametrize("name", ["phone", "new_phone"])
def test_code_of_an_old_supabase_goes_to_the_only_number(name: str) -> None:
    payload = supabase_of_2_179(**{name: "79161234567"})

    assert read("supabase", payload).phone == "+79161234567"


@pytest.mark.parametrize(
    "payload",
    [
        supabase_of_2_179(phone="79161234567", new_phone="79161234568"),
        supabase_of_2_179(phone="79161234567") | {"sms": {"otp": "561166", "sms_type": "mfa"}},
    ],
    ids=["change", "second factor"],
)
def test_ambiguous_number_of_an_old_supabase_is_refused(payload: dict[str, Any]) -> None:
    with pytest.raises(CallRefusedError) as refused:
        read("supabase", payload)

    assert refused.value.reason == "unnamed_phone"


@pytest.mark.parametrize(
    ("use", "purpose"),
    [
        ("SignIn", "login"),
        ("Register", "registration"),
        ("ForgotPassword", "password_reset"),
        ("BindMfa", "mfa"),
        ("Test", ""),
    ],
)
def test_logto_use_is_a_purpose(use: str, purpose: str) -> None:
    """packages/connectors/connector-http-sms/src/index.ts, 2026-08."""
    wanted = read(
        "logto",
        {
            "to": "79161234567",
            "type": use,
            "payload": {"code": "561166", "locale": "pt-BR", "uiLocales": "pt-BR en"},
            "ip": "203.0.113.7",
        },
    )

    assert (wanted.phone, wanted.code, wanted.purpose) == ("+79161234567", "561166", purpose)
    assert (wanted.locale, wanted.ip) == ("pt-BR", "203.0.113.7")


@pytest.mark.parametrize(
    ("args", "event", "code"),
    [
        ({"code": "0M53RF", "expiry": 3_600_000_000_000}, "user.human.phone.code.added", "0M53RF"),
        ({"oTP": "56116677", "expiry": 300_000_000_000}, "session.otp.sms.challenged", "56116677"),
    ],
)
def test_zitadel_names_the_code_in_two_ways(args: dict[str, Any], event: str, code: str) -> None:
    """docs/guides/manage/customize/notification-providers, 2026-03."""
    wanted = read(
        "zitadel",
        {
            "contextInfo": {
                "eventType": event,
                "provider": {"id": "285181292935381355", "description": "test"},
                "recipientPhoneNumber": "+41791234567",
            },
            "templateData": {"text": "…", "title": "Zitadel - Verify phone"},
            "args": {"domain": "localhost", "preferredLanguage": "en", **args},
        },
    )

    assert (wanted.phone, wanted.code, wanted.locale) == ("+41791234567", code, "en")
    assert wanted.lifetime == args["expiry"] / 1e9
    assert wanted.purpose


def test_zitadel_phone_verification_has_no_lifetime() -> None:
    """internal/domain/notification.go `ToMap`, 2026-08: every argument goes out, the empty too."""
    payload = {
        "contextInfo": {
            "eventType": "user.human.phone.code.added",
            "provider": {"id": "3051", "description": "Kvitok"},
            "recipientPhoneNumber": "+41791234567",
        },
        "args": {"code": "0M53RF", "expiry": 0, "origin": "", "sessionID": "", "tempUsername": ""},
    }

    wanted = read("zitadel", payload)

    assert (wanted.code, wanted.lifetime) == ("0M53RF", None)


def test_authentik_number_keeps_its_typed_spelling() -> None:
    """authentik/stages/authenticator_sms/models.py, 2026-08."""
    wanted = read(
        "authentik",
        {
            "From": "1234",
            "To": "8 916 123-45-67",
            "Body": "561166",
            "Message": "Use this code to authenticate in authentik: 561166",
        },
    )

    assert (wanted.phone, wanted.code) == ("8 916 123-45-67", "561166")


def test_ory_code_is_read_from_our_jsonnet() -> None:
    wanted = read(
        "ory",
        {
            "to": "+12065550101",
            "code": "561166",
            "text": "Your recovery code is: 561166\n\n@example.com #561166\n",
            "type": "recovery_code_valid",
            "expires_in_minutes": 60,
        },
    )

    assert (wanted.phone, wanted.code, wanted.purpose) == (
        "+12065550101",
        "561166",
        "password_reset",
    )
    assert wanted.lifetime == 3600


def test_ory_with_twilios_jsonnet_is_read_by_its_text() -> None:
    """courier/stub/request.config.twilio.jsonnet, 2026-07: capital names."""
    payload = {"To": "+12065550101", "From": "Kratos Test", "Body": "Your login code is: 561166"}

    assert read("ory", payload).code == "561166"


def test_keycloak_sentence_holds_the_code() -> None:
    """sms-authenticator/…/ApiSmsService.java, 2026-08."""
    payload = {
        "text": "Your SMS code is 561166 and is valid for 5 minutes.",
        "to": "+4917612345678",
        "from": "Realm",
    }

    wanted = read("keycloak", payload)

    assert (wanted.phone, wanted.code) == ("+4917612345678", "561166")
    assert read("keycloak", payload | {"text": "Kode: 5611"}, code_length=4).code == "5611"


def test_keycloak_writes_quotes_as_they_are() -> None:
    text = 'Your "Example\nCompany" code is 561166'
    body = f'{{"text":"{text}","to":"+4917612345678","from":"Realm"}}'.encode()

    wanted = kinds()["keycloak"].read(HookCall("POST", JSON, "", body, AT), HookOptions())

    assert (wanted.phone, wanted.code) == ("+4917612345678", "561166")


def test_keycloak_broken_body_is_read_in_linear_time() -> None:
    body = b'"text":"",' * 6000
    started = time.process_time()

    with pytest.raises(CallRefusedError):
        kinds()["keycloak"].read(HookCall("POST", JSON, "", body, AT), HookOptions())

    assert time.process_time() - started < 0.3  # its square took 2 s


def test_keycloak_list_of_one_receiver_is_read() -> None:
    """receiverJsonTemplate `["%s"]`."""
    payload = {"text": "Code 561166", "to": ["+4917612345678"], "from": "Realm"}

    assert read("keycloak", payload).phone == "+4917612345678"


def test_keycloak_calls_by_query_too() -> None:
    query = urlencode({"to": "+4917612345678", "text": "Code 561166"})

    wanted = kinds()["keycloak"].read(HookCall("GET", {}, query, b"", AT), HookOptions())

    assert (wanted.phone, wanted.code) == ("+4917612345678", "561166")


def test_authgear_variables_come_before_the_text() -> None:
    """pkg/lib/infra/sms/custom, 2026-08."""
    payload = {
        "to": "+85298765432",
        "body": "123456 is your code",
        "app_id": "app",
        "template_name": "verification_sms.txt",
        "language_tag": "zh-HK",
        "template_variables": {"code": "561166"},
    }

    wanted = read("authgear", payload)

    assert (wanted.code, wanted.locale) == ("561166", "zh-HK")
    assert read("authgear", payload | {"template_variables": {}}).code == "123456"
    link = {"template_variables": {"link": "https://example.com/reset"}}
    assert read("authgear", payload | link).link == "https://example.com/reset"


CASDOOR = {"phoneNumber": "+8613812345678", "content": "561166"}


@pytest.mark.parametrize(
    "call",
    [
        HookCall("POST", {"content-type": FORM}, "", urlencode(CASDOOR).encode(), AT),
        HookCall("PUT", JSON, "", orjson.dumps(CASDOOR), AT),
        HookCall("DELETE", JSON, "", orjson.dumps(CASDOOR), AT),
        HookCall("GET", {}, urlencode(CASDOOR), b"", AT),
        HookCall("GET", {}, urlencode(CASDOOR | {"content": "Your code: 561166."}), b"", AT),
    ],
    ids=lambda call: call.method,
)
def test_casdoor_calls_in_four_ways(call: HookCall) -> None:
    """object/sms_custom_http.go, 2026-08."""
    wanted = kinds()["casdoor"].read(call, HookOptions())

    assert (wanted.phone, wanted.code) == ("+8613812345678", "561166")


def test_casdoor_writes_the_number_unescaped_into_the_address() -> None:
    """`?phoneNumber={mobile}&content={code}`; without its plus this number may be Chinese."""
    query = "phoneNumber=+13135550123&content=561166"

    wanted = kinds()["casdoor"].read(HookCall("GET", {}, query, b"", AT), HookOptions())

    assert (wanted.phone, wanted.code) == ("+13135550123", "561166")


def test_fusionauth_code_is_a_field_next_to_the_text() -> None:
    """astro/src/content/json/messengers/generic-message-request.json, 2026-10."""
    wanted = read(
        "fusionauth",
        {
            "code": "561166",
            "phoneNumber": "+14155550123",
            "textMessage": "Two Factor Code: 561166",
            "type": "SMS",
            "userId": "d0e6",
        },
    )

    assert (wanted.phone, wanted.code) == ("+14155550123", "561166")


def test_descope_code_is_its_token() -> None:
    """docs.descope.com, SMS payload schema, 2026."""
    payload = {"recipient": "+1 415 555 0123", "body": "Code", "sender": "+1", "token": "561166"}

    assert (read("descope", payload).phone, read("descope", payload).code) == (
        "+1 415 555 0123",
        "561166",
    )


def test_novu_text_is_sent_if_it_holds_one_code() -> None:
    """packages/providers/src/lib/sms/generic-sms, 2026-10."""
    payload = {
        "to": "+79161234567",
        "content": "Your code is 561166",
        "sender": "Kvitok",
        "id": "1",
    }

    assert read("novu", payload).code == "561166"
    with pytest.raises(CallRefusedError) as refused:
        read("novu", payload | {"content": "Your order is on its way"})
    assert refused.value.reason == "no_code_in_text"


CLERK = {
    "type": "sms.created",
    "object": "event",
    "instance_id": "ins_2",
    "timestamp": int(AT),
    "event_attributes": {"http_request": {"client_ip": "203.0.113.7", "user_agent": "Browser"}},
    "data": {
        "id": "sms_2",
        "object": "sms_message",
        "slug": "verification_code",
        "from_phone_number": "+14155550100",
        "to_phone_number": "+14155550123",
        "phone_number_id": "idn_2",
        "message": "561166 is your verification code for Example",
        "status": "queued",
        "data": {},
        "delivered_by_clerk": False,
    },
}


def test_clerk_event_holds_the_code_and_its_time() -> None:
    """clerk/openapi-specs, `sms.created`, 2026-08: seconds there, milliseconds in its guides."""
    in_data = CLERK["data"] | {"data": {"otp_code": "770012"}}  # type: ignore[operator]

    wanted = read("clerk", CLERK)

    assert (wanted.phone, wanted.code) == ("+14155550123", "561166")
    assert (wanted.sent_at, wanted.lifetime, wanted.ip) == (AT, 600, "203.0.113.7")
    assert read("clerk", CLERK | {"timestamp": int(AT * 1000)}).sent_at == AT
    assert read("clerk", CLERK | {"data": in_data}).code == "770012"


@pytest.mark.parametrize(
    "change",
    [
        {"type": "user.created"},
        {"data": CLERK["data"] | {"delivered_by_clerk": True}},  # type: ignore[operator]
    ],
    ids=["another event", "Clerk delivers"],
)
def test_clerk_event_that_is_not_ours_is_ignored(change: dict[str, Any]) -> None:
    with pytest.raises(NothingToSendError):
        read("clerk", CLERK | change)


def test_every_kind_declares_what_its_page_shows() -> None:
    for kind in kinds().values():
        texts = " ".join(setting.text for setting in kind.settings)
        assert "{url}" in texts, kind.name
        has_own_secret = any("{secret}" not in texts for _ in [0])
        assert "{secret}" in texts or has_own_secret
        assert len(kind.name) <= 20
        assert kind.source.startswith("https://") or kind.name == "generic"


def test_ory_jsonnet_is_read_by_its_own_language() -> None:
    """Its text is Jsonnet, not JSON: braces match, and no placeholder was filled in."""
    jsonnet = kinds()["ory"].settings[1].text

    assert jsonnet.count("{") == jsonnet.count("}")
    assert not {"{url}", "{secret}"} & set(json.dumps(jsonnet).split())
