"""Every kind's own call goes out, is repeated safely, and is refused in its server's words."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import time_machine
from django.http import HttpResponse
from django.utils import timezone

from accounts.models import Company, Mode
from catalogue.errors import Error
from channels.models import Message
from identity_hooks import hooks, responses
from identity_hooks.hook_call import json_call
from identity_hooks.kinds import authgear, kinds
from identity_hooks.mapping import DEFAULT
from identity_hooks.models import Hook
from tests.api.races import at_once
from tests.factories import CompanyFactory
from tests.identity_hooks.calls import (
    CODE,
    PHONE,
    body_of,
    call_at,
    make_hook,
    secret_of,
    send,
    simulated,
)

KINDS = list(kinds())
UNAUTHORIZED = "The signature or the secret is wrong, or there is no such connection"
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued_at_once", "english")]


@pytest.fixture(params=KINDS)
def hook(request: pytest.FixtureRequest, company: Company) -> Hook:
    Company.objects.update(language="en")
    mapping = {"phone": "/to", "code": "data.code"} if request.param == "generic" else {}
    return make_hook(company, request.param, mapping=mapping)


def accepted(kind: str, response: HttpResponse) -> bool:
    """Whether the server takes the response as a success."""
    if kind == "supabase":
        return response.status_code == 200 and response.content == b"{}"
    if kind == "authgear":
        return response.content == b'{"code":"ok"}'
    if kind == "casdoor":
        return response.status_code == 200
    return 200 <= response.status_code < 300


def test_servers_own_call_becomes_a_message(hook: Hook) -> None:
    response = send(hook, simulated(hook))

    assert accepted(hook.kind, response), response.content
    message = Message.objects.get()
    assert (message.phone, message.mode, message.kind) == (PHONE, "live", "code")
    assert message.params["door"] == hook.kind
    assert response["Content-Type"].startswith(("application/json", "text/plain"))
    hook.refresh_from_db()
    assert hook.last_used_at is not None


@pytest.mark.django_db(transaction=True)
def test_repeat_is_one_message(hook: Hook) -> None:
    """Each try has a signature and a time of its own, and in some servers ids of its own."""
    first, second = send(hook, simulated(hook)), send(hook, simulated(hook))

    assert accepted(hook.kind, first)
    assert accepted(hook.kind, second), second.content
    assert Message.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_repeats_at_once_are_one_message(company: Company) -> None:
    """No repeat counts as a guess of the live code, however many tries are under way."""
    hook = make_hook(company, "logto")
    results = at_once([partial(send, hook, simulated(hook)) for _ in range(30)])

    assert [response.content for response in results if not accepted(hook.kind, response)] == []
    assert Message.objects.count() == 1


def test_code_is_nowhere_but_in_the_message(
    hook: Hook, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = simulated(hook, phone="+7", code="770012")

    results = [send(hook, simulated(hook)).content, send(hook, wrong).content]

    said = str(results) + caplog.text + "".join(capsys.readouterr())
    assert (CODE in said, "770012" in said) == (False, False)


def refusal(kind: str, response: HttpResponse) -> tuple[int, str]:
    """Returns the status, and the code or sentence that the server understands."""
    match kind:
        case "supabase" if response.status_code == 200:
            error = body_of(response)["error"]
            return error["http_code"], error["message"]
        case "supabase":
            return response.status_code, body_of(response)["error"]["message"]
        case "authentik":
            return response.status_code, response.content.decode()
        case _:
            return response.status_code, body_of(response)["code"]


WRONG_PHONE = {
    "supabase": (422, "This phone number is not valid. Check the digits and country code."),
    "authentik": (422, "This phone number is not valid. Check the digits and country code."),
    "authgear": (422, "invalid_phone_number"),
}


def test_wrong_phone_is_refused_in_the_servers_format(hook: Hook) -> None:
    response = send(hook, simulated(hook, phone="+7916"))

    expected = WRONG_PHONE.get(hook.kind, (422, "invalid_phone"))
    assert refusal(hook.kind, response) == expected
    assert not accepted(hook.kind, response)
    assert not Message.objects.exists()


def test_callers_are_refused_alike(hook: Hook) -> None:
    """An id that is unknown, revoked or another kind's, and a wrong secret, look the same."""
    other = make_hook(hook.company, hook.kind)
    call = simulated(hook)
    forged = simulated(hook, secret=secret_of(other))
    prefix = hook.path.rpartition("/")[0]
    unknown = send(hook, call, f"{prefix}/{'a' * 24}")
    wrong_secret = send(hook, forged)
    unsigned = call_at(hook.path, "POST", call.body)
    another_address = send(make_limited(hook), simulated(hook))
    hooks.revoke(hook=hook, user=None)
    revoked = send(hook, call)

    results = [unknown, wrong_secret, unsigned, another_address, revoked]
    assert {response.status_code for response in results} == {401}
    assert len({response.content for response in results}) == 1
    assert len({frozenset(response.headers.keys()) for response in results}) == 1
    assert not Message.objects.exists()


def make_limited(hook: Hook) -> Hook:
    limited = make_hook(hook.company, hook.kind, allowed_ips=["203.0.113.0/24"])
    limited.secret = hook.secret
    limited.save(update_fields=["secret"])
    return limited


ADDRESSES = ("203.0.113.9", "2001:db8::1", "198.51.100.7", "", "not an address")


def test_server_calls_from_an_allowed_address(company: Company) -> None:
    hook = make_hook(company, "logto", allowed_ips=["203.0.113.0/24", "2001:db8::/32"])

    results = [
        send(hook, simulated(hook, phone=f"+7916123456{n}"), REMOTE_ADDR=address).status_code
        for n, address in enumerate(ADDRESSES)
    ]

    assert results == [200, 200, 401, 401, 401]


BODIES: list[tuple[bytes, str]] = [
    (b"", "application/json"),
    (b"[]", "application/json"),
    (b"null", "application/json"),
    (b'{"sms": "text"}', "application/json"),
    (
        b'{"sms": {"otp": ["1"], "phone": {}}, "to": {}, "payload": 1, "args": []}',
        "application/json",
    ),
    (b'{"to": "+79161234567", "phone": "+79161234567"}', "application/json"),
    (b"{" * 5000, "application/json"),
    (b"[" * 60_000, "application/json"),
    (b"\xff\xfe", "application/json"),
    (b'{"to": "\\ud800"}', "application/json"),
    (b"<xml/>", "text/xml"),
    (b"\xff=%FF&" * 200, "application/x-www-form-urlencoded"),
    (b"a=b", "multipart/form-data"),
    (b"x" * 65_537, "application/json"),
]


def test_no_body_is_answered_500(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    """The body is signed by the right server, and may say anything."""
    monkeypatch.setattr("identity_hooks.receive.check_signature", lambda *_args: None)

    results = [call_at(hook.path, "POST", body, content_type) for body, content_type in BODIES]

    is_event = hook.kind == "clerk"  # of which those that ask for nothing are in order
    statuses = {
        200 if is_event and b"ignored" in response.content else refusal(hook.kind, response)[0]
        for response in results
    }
    assert statuses <= {415, 422} | ({200} if is_event else set())
    assert not Message.objects.exists()


def test_other_methods_are_refused(hook: Hook) -> None:
    others = {"GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"} - kinds()[hook.kind].methods

    assert {call_at(hook.path, method).status_code for method in others} == {405}


def test_unknown_kind_is_not_found(company: Company) -> None:
    hook = make_hook(company, "logto")

    for path in ("/hooks/identity/okta/x", f"/hooks/identity/logto/{hook.url_id}/secret"):
        assert call_at(path, "POST").status_code == 404


def test_longer_path_is_refused_in_the_servers_format(hook: Hook) -> None:
    unknown = call_at(f"/hooks/identity/{hook.kind}/x", "POST")

    for end in ("/", "/secret/x", "//"):
        response = call_at(f"{hook.path}{end}", "POST")
        assert response.status_code == 404
        assert response.headers["Content-Type"] == unknown.headers["Content-Type"]
        assert b"<" not in response.content


def test_replaced_secret_is_accepted_for_a_day(hook: Hook) -> None:
    old = secret_of(hook)
    new = hooks.rotate(hook=hook, user=None)

    assert accepted(hook.kind, send(hook, simulated(hook, secret=old)))
    other = simulated(hook, secret=new, phone="+79161234568")
    assert accepted(hook.kind, send(hook, other))
    Hook.objects.update(previous_until=timezone.now())
    assert send(hook, simulated(hook, secret=old)).status_code == 401


def test_test_hook_sends_nothing(hook: Hook) -> None:
    Hook.objects.update(mode=Mode.TEST)
    hook.refresh_from_db()

    assert accepted(hook.kind, send(hook, simulated(hook)))
    assert Message.objects.get().mode == "test"


@pytest.mark.parametrize(
    ("status", "mode", "code"),
    [
        ("suspended", "live", "forbidden"),
        ("suspended", "test", "forbidden"),
        ("pending", "live", "forbidden"),
        ("pending", "test", ""),
    ],
)
def test_company_that_may_not_send_is_refused(
    company: Company, status: str, mode: str, code: str
) -> None:
    hook = make_hook(company, "logto", mode)
    Company.objects.filter(pk=company.pk).update(status=status)

    body = body_of(send(hook, simulated(hook)))

    assert body.get("code", "") == code


def test_person_does_not_learn_that_the_company_has_no_tokens(db: None) -> None:
    hook = make_hook(CompanyFactory.create(language="en"), "supabase")

    body = body_of(send(hook, simulated(hook)))

    assert body == {
        "error": {"http_code": 402, "message": "The code could not be sent. Try again later."}
    }


def test_every_limit_tells_the_person_to_wait() -> None:
    limits = {error for error in Error if error.status == 429}

    assert limits <= responses.FOR_A_PERSON.keys()
    assert {authgear.CODES[limit] for limit in limits} == {"rate_limited"}


def test_unreadable_call_is_refused_in_the_company_language(company: Company) -> None:
    for language, sentence in (
        ("en", "Check the request fields"),
        ("ru", "Проверьте поля запроса"),
    ):
        Company.objects.update(language=language)
        hook = make_hook(company, "logto")

        response = send(hook, replace(simulated(hook), body=b"[]"))

        assert (response.status_code, body_of(response)["message"]) == (422, sentence)


def test_held_back_call_is_not_answered_with_a_challenge(company: Company) -> None:
    Company.objects.update(language="en")
    hook = make_hook(company, "logto", "test")

    message = body_of(send(hook, simulated(hook, phone="+79990000015")))["message"]

    assert "Protection" in message
    assert "challenge" not in message


def test_person_reads_the_company_language(company: Company) -> None:
    Company.objects.update(language="ru")
    hook = make_hook(company, "authentik")

    response = send(hook, simulated(hook, phone="+7916")).content.decode()

    assert "Проверьте" in response


def send_payload(hook: Hook, payload: dict[str, Any]) -> HttpResponse:
    return send(hook, json_call(payload, {"Authorization": f"Bearer {secret_of(hook)}"}))


@pytest.mark.parametrize("code", ["123", "12345678901", "12 34", "١٢٣٤٥٦", "", "1234\n"])
def test_malformed_code_is_refused(company: Company, code: str) -> None:
    hook = make_hook(company, "logto")

    response = send_payload(hook, {"to": PHONE, "type": "SignIn", "payload": {"code": code}})

    assert response.status_code == 422


@pytest.mark.parametrize("purpose", ["a\x00b", "\x00", "lo\u202egin", "two\nlines"])
def test_malformed_purpose_is_refused(company: Company, purpose: str) -> None:
    hook = make_hook(company, "generic", mapping=DEFAULT)

    response = send_payload(hook, {"phone": PHONE, "code": CODE, "purpose": purpose})

    assert response.status_code == 422
    assert not Message.objects.exists()


@pytest.mark.parametrize("seconds", [-86_400, -601, -590, 0, 590, 601, 86_400])
def test_event_is_sent_while_its_code_is_useful(company: Company, seconds: int) -> None:
    """An event dated far ahead of our clock would never become stale."""
    stored = {"phone": "/to", "code": "/code", "sent_at": "/at", "lifetime": 600}
    hook = make_hook(company, "generic", mapping=stored)

    response = send_payload(
        hook, {"to": PHONE, "code": CODE, "at": timezone.now().timestamp() + seconds}
    )

    assert (response.status_code, Message.objects.exists()) == (200, abs(seconds) < 600)


def test_channels_and_purpose_of_the_hook_are_used(company: Company) -> None:
    hook = make_hook(company, "logto", channels=["sms", "whatsapp"], purpose="customers")

    send_payload(hook, {"to": PHONE, "type": "Register", "payload": {"code": CODE}})

    message = Message.objects.get()
    assert (message.channel, message.chain[0]["channel"]) == ("sms", "whatsapp")


def test_hook_has_the_rate_limit_of_a_key(company: Company) -> None:
    Company.objects.update(api_rate=1)
    first, second = make_hook(company, "logto"), make_hook(company, "logto")

    calls = [(first, PHONE), (first, "+79161234568"), (second, "+79161234569")]
    with time_machine.travel(timezone.now(), tick=False):
        results = [
            send(called, simulated(called, phone=phone)).status_code for called, phone in calls
        ]

    assert results == [200, 429, 200]
