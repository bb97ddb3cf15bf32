"""The contract of every HTTP provider."""

import logging
import traceback
from codecs import BOM_UTF8
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from email.utils import format_datetime

import pytest
import requests
import responses
from django.http.request import HttpHeaders
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.providers.base import (
    AmbiguousError,
    Content,
    RefusedError,
    SendError,
    ThrottledError,
    TransientError,
)
from channels.providers.inbound import InvalidWebhookError
from channels.vendor_webhooks import MetaHeaders
from tests.channels.providers.vendors import (
    CODE,
    PHONE,
    VENDORS,
    Vendor,
    all_events,
    body_of,
    code_with_link,
    link,
    message,
)

NO_OBJECT = [b"", b"<html>Bad gateway</html>", b"[]", b"null", b'"ok"', b"{", b"{}", b"\xff\xfe"]
Wire = responses.RequestsMock


def failing(vendor: Vendor) -> SendError:
    with pytest.raises(SendError) as caught:
        vendor.account().send(message())
    return caught.value


def test_takes_an_answer_after_a_byte_order_mark(vendor: Vendor, wire: Wire) -> None:
    """Some vendors prefix JSON with a BOM."""
    wire.post(vendor.send_url, body=BOM_UTF8 + vendor.accepted)

    assert vendor.account().send(message()).provider_id


def test_accepted_message_has_the_vendor_s_id(vendor: Vendor, wire: Wire) -> None:
    wire.post(vendor.send_url, body=vendor.accepted)

    accepted = vendor.account().send(message())

    assert accepted.provider_id
    assert len(wire.calls) == 1


def test_request_has_a_user_agent_and_no_cookies(vendor: Vendor, wire: Wire) -> None:
    wire.post(vendor.send_url, body=vendor.accepted, headers={"Set-Cookie": "sid=1"})
    provider = vendor.account()

    provider.send(message())
    provider.send(message())

    sent = wire.calls[1].request
    assert "Cookie" not in sent.headers
    assert sent.headers["User-Agent"].startswith("kvitok/")
    assert int(sent.headers["Content-Length"]) == len(body_of(sent))


def test_provider_sends_declared_contents_and_refuses_others(vendor: Vendor, wire: Wire) -> None:
    wire.post(vendor.send_url, body=vendor.accepted)
    provider = vendor.account()
    outgoing = {
        Content.CODE: message(),
        Content.LINK: link(),
        Content.CODE_WITH_LINK: code_with_link(),
        Content.CUSTOM_DIGITS: replace(message(), content=Content.CUSTOM_DIGITS),
        Content.CUSTOM_CODE: replace(message(), content=Content.CUSTOM_CODE, code="aB3xYz"),
        Content.CODE_WITH_TEXT: replace(message(), content=Content.CODE_WITH_TEXT),
    }
    can = provider.capabilities.contents

    for content in can:
        assert provider.send(outgoing[content]).provider_id
    for content in set(Content) - can:
        with pytest.raises(RefusedError, match="unsupported_content"):
            provider.send(outgoing[content])

    assert len(wire.calls) == len(can)


def test_too_many_requests_is_throttled_whatever_the_body(vendor: Vendor, wire: Wire) -> None:
    wire.post(vendor.send_url, status=429, body="slow down", headers={"Retry-After": "7"})

    error = failing(vendor)

    assert isinstance(error, ThrottledError)
    assert error.retry_after == 7
    assert error.account


def test_wait_may_be_a_date(vendor: Vendor, wire: Wire) -> None:
    at = format_datetime(timezone.now() + timedelta(seconds=90))
    wire.post(vendor.send_url, status=429, headers={"Retry-After": at})

    error = failing(vendor)

    assert isinstance(error, ThrottledError)
    assert error.retry_after == pytest.approx(90, abs=5)


@pytest.mark.parametrize("wait", ["soon", "-1", "", "Fri, 14 Aug 2020 10:15:00 GMT"])
def test_empty_wait_is_omitted(vendor: Vendor, wire: Wire, wait: str) -> None:
    wire.post(vendor.send_url, status=429, headers={"Retry-After": wait})

    error = failing(vendor)

    assert isinstance(error, ThrottledError)
    assert error.retry_after is None


@pytest.mark.parametrize("status", [200, 500, 503, 520])
def test_answer_that_cannot_be_read_is_ambiguous(vendor: Vendor, wire: Wire, status: int) -> None:
    for number, body in enumerate(NO_OBJECT, start=1):
        wire.upsert("POST", vendor.send_url, status=status, body=body)

        assert type(failing(vendor)) is AmbiguousError, body
        assert len(wire.calls) == number


@pytest.mark.parametrize(
    ("status", "account"), [(302, True), (401, True), (403, True), (404, True), (400, False)]
)
def test_refusal_by_something_in_between_is_definite(
    vendor: Vendor, wire: Wire, status: int, account: bool
) -> None:
    wire.post(
        vendor.send_url, status=status, body="<html>", headers={"Location": "https://evil.example"}
    )

    error = failing(vendor)

    assert type(error) is RefusedError
    assert error.account is account
    assert len(wire.calls) == 1


@pytest.mark.parametrize(
    ("status", "kind", "account"),
    [
        (400, RefusedError, False),
        (422, RefusedError, False),
        (401, RefusedError, True),
        (403, RefusedError, True),
        (404, RefusedError, True),
        (408, TransientError, False),
        (429, ThrottledError, True),
        (500, AmbiguousError, False),
        (503, AmbiguousError, False),
    ],
)
def test_unknown_error_follows_the_status(
    vendor: Vendor, wire: Wire, status: int, kind: type[SendError], *, account: bool
) -> None:
    wire.post(vendor.send_url, status=status, body=vendor.unknown)

    error = failing(vendor)

    assert (type(error), error.account) == (kind, account)


@pytest.mark.parametrize(
    "broken",
    [requests.ConnectTimeout(), requests.ConnectionError(), requests.exceptions.SSLError()],
)
def test_no_connection_is_definite(vendor: Vendor, wire: Wire, broken: Exception) -> None:
    wire.post(vendor.send_url, body=broken)

    error = failing(vendor)

    assert type(error) is TransientError
    assert error.code == "no_connection"
    assert len(wire.calls) == 1


@pytest.mark.parametrize("broken", [requests.ReadTimeout(), requests.ConnectionError()])
def test_no_answer_is_ambiguous(vendor: Vendor, wire: Wire, broken: Exception) -> None:
    def gone(request: requests.PreparedRequest) -> tuple[int, dict[str, str], bytes]:
        body_of(request)
        raise broken

    wire.add_callback("POST", vendor.send_url, callback=gone)

    error = failing(vendor)

    assert type(error) is AmbiguousError
    assert error.code == "no_answer"
    assert len(wire.calls) == 1


@pytest.mark.parametrize("status", [200, 400, 401, 429, 500])
def test_no_secret_in_an_error_the_vendor_echoes_it_in(
    vendor: Vendor, wire: Wire, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    caplog.set_level(logging.DEBUG)
    echo = " ".join((*vendor.secrets[:1], CODE, PHONE, PHONE[1:]))
    wire.post(vendor.send_url, status=status, body=vendor.refused(echo))

    error = failing(vendor)

    assert_no_secret(vendor, error, caplog.text)


@pytest.mark.parametrize("kind", [requests.ConnectionError, requests.ReadTimeout])
def test_no_secret_in_the_error_of_a_broken_connection(
    vendor: Vendor, wire: Wire, caplog: pytest.LogCaptureFixture, kind: type[Exception]
) -> None:
    caplog.set_level(logging.DEBUG)
    wire.post(vendor.send_url, body=kind(f"{vendor.send_url} {CODE} {vendor.secrets}"))

    error = failing(vendor)

    assert error.__context__ is None
    assert_no_secret(vendor, error, caplog.text)


def assert_no_secret(vendor: Vendor, error: SendError, log: str) -> None:
    error_text = (
        "".join(traceback.format_exception(error)) + repr(error.args) + repr(vars(error)) + log
    )
    for secret in (*vendor.secrets, CODE, PHONE[1:]):
        assert secret not in error_text


def test_no_secret_in_the_log_of_a_failed_poll(
    vendor: Vendor, wire: Wire, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    assert vendor.account().poll("some-id") is None

    for secret in vendor.secrets:
        assert secret not in caplog.text


@pytest.mark.parametrize("token", ["line\nbreak", "пароль", "tab\t"])
def test_token_no_header_may_carry_is_refused_unquoted(vendor: Vendor, token: str) -> None:
    with pytest.raises(ValueError, match="characters that no request may carry") as caught:
        vendor.account(**{vendor.token_setting: token})

    assert token not in str(caught.value)


def test_repeated_genuine_call_is_read_again(signing: Vendor) -> None:
    provider = signing.account()
    call = signing.call(signing.webhook_body)

    once = provider.parse_webhook(call)

    assert all_events(once)
    assert once.raw == call.body
    assert provider.parse_webhook(call) == once


@pytest.mark.parametrize("spell", [str.lower, str.upper, str.title])
def test_header_names_come_in_any_case(signing: Vendor, spell: Callable[[str], str]) -> None:
    call = signing.call(signing.webhook_body)
    spelled = MetaHeaders(
        {HttpHeaders.to_wsgi_name(spell(key)): value for key, value in call.headers.items()}
    )

    assert all_events(signing.account().parse_webhook(replace(call, headers=spelled)))


def test_altered_body_is_refused_if_the_signature_covers_it(
    signing: Vendor,
) -> None:
    provider = signing.account()
    call = signing.call(signing.webhook_body)
    genuine = all_events(provider.parse_webhook(call))

    for index, byte in enumerate(call.body):
        flipped = call.body[:index] + bytes([byte ^ 1]) + call.body[index + 1 :]
        try:
            read = all_events(provider.parse_webhook(replace(call, body=flipped)))
        except InvalidWebhookError:
            continue
        assert signing.vouches_for == "caller" or (signing.vouches_for, read) == ("fields", genuine)


def test_altered_signature_is_refused(signing: Vendor) -> None:
    provider = signing.account()
    forged = list(signing.forged(signing.call(signing.webhook_body)))

    assert len(forged) >= 5
    for call in forged:
        with pytest.raises(InvalidWebhookError):
            provider.parse_webhook(call)


def test_call_without_signature_is_refused(signing: Vendor) -> None:
    with pytest.raises(InvalidWebhookError):
        signing.account().parse_webhook(signing.unsigned(signing.call(signing.webhook_body)))


def test_every_call_is_refused_without_a_secret(signing: Vendor) -> None:
    provider = signing.account(**{signing.secret_setting: ""})

    with pytest.raises(InvalidWebhookError):
        provider.parse_webhook(signing.call(signing.webhook_body, ""))


@pytest.mark.parametrize("name", ["twilio", "smsc"])
@settings(deadline=None, max_examples=40)
@given(body=st.binary() | st.text().map(str.encode))
def test_no_form_breaks_the_reader(name: str, body: bytes) -> None:
    vendor = VENDORS[name]

    try:
        read = all_events(vendor.account().parse_webhook(vendor.call(body)))
    except InvalidWebhookError:
        read = []

    assert read == []


@pytest.mark.parametrize("name", ["whatsapp_cloud", "telegram_gateway", "telegram_bot", "max_bot"])
def test_signed_body_other_than_an_object_is_ignored(name: str) -> None:
    vendor = VENDORS[name]

    for body in NO_OBJECT:
        assert all_events(vendor.account().parse_webhook(vendor.call(body))) == [], body
