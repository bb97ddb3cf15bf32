"""SMSC: sending, its reports and its refusals."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

import pytest
import responses

from channels.providers.base import (
    Accepted,
    AmbiguousError,
    Outgoing,
    RefusedError,
    SendError,
    ThrottledError,
    UnreachableError,
)
from channels.providers.inbound import InvalidWebhookError, Receipt, ReceiptState, WebhookRequest
from tests.channels.providers.vendors import (
    SMSC_PASSWORD,
    VENDORS,
    body_of,
    message,
    payload,
    smsc,
    smsc_call,
)

URL = VENDORS["smsc"].send_url
STATUS_URL = "https://smsc.example.com/sys/status.php"
NUMBER = "1284562047"
ID = f"998901234567:{NUMBER}"
Wire = responses.RequestsMock


def form_of(wire: Wire) -> dict[str, str]:
    return dict(parse_qsl(body_of(wire.calls[0].request).decode(), strict_parsing=True))


def sent_fields(wire: Wire, outgoing: Outgoing, **settings: Any) -> dict[str, str]:
    wire.post(URL, body=payload("smsc", "accepted_2026-09.json"))
    assert smsc(**settings).send(outgoing) == Accepted(ID)
    return form_of(wire)


def refused(wire: Wire, body: bytes, n: int = 1) -> SendError:
    wire.post(URL, body=body)
    with pytest.raises(SendError) as caught:
        smsc().send(message(n=n))
    return caught.value


def poll_receipt(wire: Wire, body: bytes) -> Receipt | None:
    wire.post(STATUS_URL, body=body)
    return smsc().poll(ID)


def test_sends_a_form_under_an_id_of_ours(wire: Wire) -> None:
    form = sent_fields(wire, message(text="Ваш код: 482915 & ещё"))

    assert form == {
        "login": "demo",
        "psw": SMSC_PASSWORD,
        "fmt": "3",
        "charset": "utf-8",
        "sender": "KVITOK",
        "phones": "+998901234567",
        "mes": "Ваш код: 482915 & ещё",
        "id": smsc().provider_id_of("msg-1", "+998901234567").partition(":")[2],
        "valid": "00:05",
    }
    assert wire.calls[0].request.url == URL


def test_without_a_login_the_password_is_a_key(wire: Wire) -> None:
    form = sent_fields(wire, message(), login="", sender="")

    assert form["apikey"] == SMSC_PASSWORD
    assert not form.keys() & {"login", "psw", "sender"}


def test_every_try_has_the_id_of_the_message() -> None:
    ids = {smsc().provider_id_of(f"msg-{number}", "+79001234567") for number in range(500)}
    numbers = [int(id_.removeprefix("79001234567:")) for id_ in ids]

    assert len(ids) == 500
    assert all(1 <= number <= 2147483647 for number in numbers)
    assert smsc().provider_id_of("msg-7", "+79001234567") in ids


@pytest.mark.parametrize(
    ("ttl", "kept"),
    [(-1, "00:01"), (59, "00:01"), (299, "00:04"), (5400, "01:30"), (10**6, "24:00")],
)
def test_validity_stays_within_smscs_range(wire: Wire, ttl: int, kept: str) -> None:
    assert sent_fields(wire, message(ttl=ttl))["valid"] == kept


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("error_authorise", (RefusedError, "2", True)),
        ("error_no_money", (RefusedError, "3", True)),
        ("error_invalid_number", (UnreachableError, "7", False)),
        ("error_cannot_deliver", (UnreachableError, "8", False)),
        ("error_duplicate", (ThrottledError, "9", False)),
    ],
)
def test_reads_errors_inside_a_200(
    wire: Wire, file: str, expected: tuple[type[SendError], str, bool]
) -> None:
    error = refused(wire, payload("smsc", f"{file}_2026-09.json"))

    assert (type(error), error.code, error.account) == expected
    assert error.detail


@pytest.mark.parametrize(
    ("code", "kind", "account"),
    [
        *((code, RefusedError, False) for code in (1, 5, 6)),
        *((code, RefusedError, True) for code in (2, 3)),
        (4, ThrottledError, True),
        (9, ThrottledError, False),  # of this one message
        *((code, UnreachableError, False) for code in (7, 8)),
        (99, AmbiguousError, False),
    ],
)
def test_every_documented_code_has_its_class(
    wire: Wire, code: int, kind: type[SendError], account: bool
) -> None:
    error = refused(wire, f'{{"error":"words","error_code":{code},"id":7}}'.encode())

    assert (type(error), error.code, error.account) == (kind, str(code), account)


SENDERS_URL = "https://smsc.example.com/sys/senders.php"
APPROVED = payload("smsc", "senders_2026-11.json")


@pytest.mark.parametrize(
    ("error_text", "account"),
    [
        ("sender is denied", True),
        ("имя отправителя запрещено", True),
        ("message text is denied", False),
        ("сообщение запрещено по тексту", False),
    ],
)
def test_denial_is_the_accounts_when_its_words_name_the_sender(
    wire: Wire, error_text: str, account: bool
) -> None:
    error = refused(wire, f'{{"error":"{error_text}","error_code":6}}'.encode())

    assert (type(error), error.code, error.account) == (RefusedError, "6", account)
    assert len(wire.calls) == 1


@pytest.mark.parametrize(
    "text", ["message is denied", "сообщение запрещено (по тексту или по имени отправителя)"]
)
@pytest.mark.parametrize(("sender", "account"), [("KVITOK", False), ("NOBODY", True), ("", False)])
def test_denial_is_the_accounts_if_sender_is_unapproved(
    wire: Wire, text: str, sender: str, account: bool
) -> None:
    wire.post(SENDERS_URL, body=APPROVED)
    wire.post(URL, body=f'{{"error":"{text}","error_code":6}}'.encode())
    provider = smsc(sender=sender)

    errors = []
    for _ in range(2):
        with pytest.raises(RefusedError) as caught:
            provider.send(message())
        errors.append((caught.value.code, caught.value.account))

    assert errors == [("6", account)] * 2
    asked = [call for call in wire.calls if call.request.url == SENDERS_URL]
    assert len(asked) == (1 if sender else 0)


@pytest.mark.parametrize(
    "response", [b'{"error":"authorise error","error_code":2}', b"<html>", b"", b"{}"]
)
def test_denial_stays_the_messages_when_the_senders_cannot_be_read(
    wire: Wire, response: bytes
) -> None:
    wire.post(SENDERS_URL, body=response, status=200 if response[:1] == b"{" else 502)

    error = refused(wire, payload("smsc", "error_denied_2026-09.json"))

    assert (error.code, error.account) == ("6", False)


def test_refused_duplicate_makes_attempt_ambiguous(wire: Wire) -> None:
    error = refused(wire, payload("smsc", "error_duplicate_2026-09.json"), n=2)

    assert (type(error), error.code) == (AmbiguousError, "9")


@pytest.mark.parametrize(
    ("report", "state", "code"),
    [
        ("sent", ReceiptState.SENT, None),
        ("delivered", ReceiptState.DELIVERED, None),
        ("read", ReceiptState.READ, None),
        ("link_followed", ReceiptState.DELIVERED, None),
        ("expired", ReceiptState.EXPIRED, "3"),
        ("impossible", ReceiptState.UNREACHABLE, "20"),
        ("invalid_number", ReceiptState.UNREACHABLE, "22"),
        ("unavailable_number", ReceiptState.UNREACHABLE, "25"),
        ("denied", ReceiptState.FAILED, "23"),
        ("no_money", ReceiptState.FAILED, "24"),
    ],
)
def test_reads_a_report_as_it_comes(report: str, state: ReceiptState, code: str | None) -> None:
    body = payload("smsc", f"report_{report}_2026-09.form")

    (receipt,) = smsc().parse_webhook(as_signed(body)).receipts

    assert (receipt.provider_id, receipt.ref) == (ID, None)
    assert (receipt.state, receipt.error_code) == (state, code)


def test_report_may_be_signed_with_sha1() -> None:
    body = payload("smsc", "report_signed_sha_2026-11.form")

    call = WebhookRequest("https://kvitok.example.com/hooks/smsc", {}, body)
    (receipt,) = smsc().parse_webhook(call).receipts

    assert (receipt.provider_id, receipt.state) == (ID, ReceiptState.DELIVERED)


@pytest.mark.parametrize(
    ("md5", "sha1", "is_good"),
    [(True, True, True), (True, False, False), (False, True, False), (False, False, False)],
)
def test_both_signatures_must_match(md5: bool, sha1: bool, is_good: bool) -> None:
    signed = payload("smsc", "report_delivered_2026-09.form").decode()
    other = payload("smsc", "report_signed_sha_2026-11.form").decode().partition("&sha1=")[2]
    body = f"{signed if md5 else signed[:-1] + 'x'}&sha1={other if sha1 else 'x' + other[1:]}"
    call = WebhookRequest("https://kvitok.example.com/hooks/smsc", {}, body.encode())

    if is_good:
        assert len(smsc().parse_webhook(call).receipts) == 1
        return
    with pytest.raises(InvalidWebhookError):
        smsc().parse_webhook(call)


def test_sha1_of_another_status_is_refused() -> None:
    body = payload("smsc", "report_signed_sha_2026-11.form").replace(b"status=1", b"status=2")

    with pytest.raises(InvalidWebhookError):
        smsc().parse_webhook(WebhookRequest("https://kvitok.example.com/hooks/smsc", {}, body))


@pytest.mark.parametrize(
    ("report", "codes"), [("no_money", ["24"]), ("denied", []), ("delivered", [])]
)
def test_report_of_an_empty_balance_is_about_the_account(report: str, codes: list[str]) -> None:
    body = payload("smsc", f"report_{report}_2026-09.form")

    assert [alert.code for alert in smsc().parse_webhook(as_signed(body)).alerts] == codes


@pytest.mark.parametrize(
    ("status", "error", "state"),
    [
        ("20", "252", ReceiptState.BARRED),
        ("20", "1", ReceiptState.UNREACHABLE),
        ("20", "", ReceiptState.UNREACHABLE),
        ("1", "252", ReceiptState.DELIVERED),  # `err` is not signed and undoes no delivery
        ("23", "252", ReceiptState.FAILED),
    ],
)
def test_subscriber_may_bar_mass_sms(status: str, error: str, state: ReceiptState) -> None:
    form = VENDORS["smsc"].webhook_body.replace(b"status=1", f"status={status}".encode())
    form = form.replace(b"err=0", f"err={error}".encode())
    account = smsc(barred_errors=("252", "244"))

    (receipt,) = account.parse_webhook(smsc_call(form)).receipts

    assert receipt.state is state
    if state is ReceiptState.BARRED:
        assert receipt.error_code == "20/252"


def test_poll_says_that_the_subscriber_bars_mass_sms(wire: Wire) -> None:
    wire.post(STATUS_URL, json={"status": 20, "last_timestamp": 1795600000, "err": 252})

    receipt = smsc(barred_errors=("252",)).poll(ID)

    assert receipt is not None
    assert receipt.state is ReceiptState.BARRED


def as_signed(body: bytes) -> Any:
    call = smsc_call(body)
    assert call.body == body  # the file is signed already
    return call


@pytest.mark.parametrize("word", ["-3", "-2", "-1", "21", "", "delivered"])
def test_report_of_another_status_is_ignored(word: str) -> None:
    body = VENDORS["smsc"].webhook_body.replace(b"status=1", f"status={word}".encode())

    assert not smsc().parse_webhook(smsc_call(body)).receipts


def test_incoming_text_in_another_charset_is_not_a_report() -> None:
    body = b"phone=79001234567&mes=%CF%F0%E8%E2%E5%F2&to=79000000000&status=&id=&md5="

    assert not smsc().parse_webhook(smsc_call(body)).receipts


@pytest.mark.parametrize("name", [b"id", b"phone", b"status", b"md5"])
def test_field_given_twice_is_refused(name: bytes) -> None:
    body = VENDORS["smsc"].webhook_body + b"&" + name + b"=1"

    with pytest.raises(InvalidWebhookError):
        smsc().parse_webhook(smsc_call(body))


def test_polls_by_phone_and_number_with_no_secret_in_the_url(wire: Wire) -> None:
    receipt = poll_receipt(wire, payload("smsc", "status_delivered_2026-09.json"))

    assert receipt == Receipt(
        provider_id=ID,
        ref=None,
        state=ReceiptState.DELIVERED,
        vendor_status="1",
        at=datetime(2026, 8, 14, 10, 15, 5, tzinfo=UTC),
    )
    assert (form_of(wire)["phone"], form_of(wire)["id"]) == ("998901234567", NUMBER)
    assert wire.calls[0].request.url == STATUS_URL


@pytest.mark.parametrize(
    ("file", "state", "code"),
    [
        ("status_not_found", ReceiptState.NOT_FOUND, "-3"),
        ("status_unknown_of_several", ReceiptState.NOT_FOUND, "-3"),
        ("status_waiting", ReceiptState.SENT, None),
    ],
)
def test_lost_message_differs_from_waiting_one(
    wire: Wire, file: str, state: ReceiptState, code: str | None
) -> None:
    receipt = poll_receipt(wire, payload("smsc", f"{file}_2026-09.json"))

    assert receipt is not None
    assert (receipt.state, receipt.error_code, receipt.at) == (state, code, None)


@pytest.mark.parametrize(
    "body",
    [
        b'{"error":"duplicate request, wait a minute","error_code":9}',
        b'{"error":"authorise error","error_code":2}',
        b'{"status":-2,"last_timestamp":0}',
        b'{"status":true}',
        b"<html>",
    ],
)
def test_smsc_poll_without_news_has_no_receipt(wire: Wire, body: bytes) -> None:
    assert poll_receipt(wire, body) is None
