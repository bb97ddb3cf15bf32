"""The SMPP provider with an independent message centre."""

from typing import Any

import pytest

from channels.providers.base import (
    Accepted,
    AmbiguousError,
    RefusedError,
    SendError,
    ThrottledError,
    TransientError,
    UnreachableError,
)
from channels.providers.gsm import Alphabet
from channels.providers.inbound import InboundEvents, Part, Receipt, ReceiptState, Reply
from channels.providers.smpp import receipt_queue
from tests.channels.providers.centre import (
    Bound,
    Centre,
    Kept,
    accept,
    keep_silent,
    refused,
    respond_with,
)
from tests.channels.providers.test_gsm import read
from tests.channels.providers.vendors import message
from tests.stack.programs import wait_until

MESSAGE_PAYLOAD = 0x0424
LONG_TEXT = "Ваш код: 482915. Никому его не сообщайте. " * 3


def test_message_is_accepted_under_the_centres_id(centre: Centre, bound: Bound) -> None:
    accepted = bound().send(message(text="Your code: 482915", ttl=300))

    (sent,) = centre.submitted
    assert accepted == Accepted("m00001")
    assert (sent.source_addr, sent.source_addr_ton, sent.source_addr_npi) == ("Kvitok", 5, 0)
    assert (sent.destination_addr, sent.dest_addr_ton, sent.dest_addr_npi) == (
        "998901234567",
        1,
        1,
    )
    assert (sent.short_message, sent.data_coding, sent.esm_class) == (b"Your code: 482915", 0, 0)
    assert sent.registered_delivery == 1


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"source": "+15005550006"}, ("15005550006", 1, 1)),
        ({"source": "2442", "source_ton": 3, "source_npi": 0}, ("2442", 3, 0)),
        ({"source": "Kvitok", "source_npi": 9}, ("Kvitok", 5, 9)),
    ],
)
def test_source_address_type_is_detected(
    centre: Centre, bound: Bound, settings: dict[str, Any], expected: tuple[str, int, int]
) -> None:
    bound(**settings).send(message())

    (sent,) = centre.submitted
    assert (sent.source_addr, sent.source_addr_ton, sent.source_addr_npi) == expected


def test_long_text_is_sent_in_concatenated_parts(centre: Centre, bound: Bound, kept: Kept) -> None:
    accepted = bound().send(message(text=LONG_TEXT, ref="att-7"))

    sent = centre.submitted
    headers = [pdu.short_message[:6] for pdu in sent]
    assert [(pdu.esm_class, pdu.data_coding) for pdu in sent] == [(0x40, 8)] * 2
    assert {header[:3] for header in headers} == {b"\x05\x00\x03"}
    assert {header[3] for header in headers} == {headers[0][3]}
    assert [tuple(header[4:]) for header in headers] == [(2, 1), (2, 2)]
    assert "".join(read(pdu.short_message[6:], Alphabet.UCS2) for pdu in sent) == LONG_TEXT
    assert accepted == Accepted("m00001+m00002")
    wait_until(lambda: len(kept.parts) == 2)
    assert kept.parts == [
        Part("att-7", 1, 2, "m00001"),
        Part("att-7", 2, 2, "m00002"),
    ]


def test_long_messages_have_distinct_references(centre: Centre, bound: Bound) -> None:
    smpp = bound()

    smpp.send(message(text=LONG_TEXT))
    smpp.send(message(text=LONG_TEXT))

    first, _, second, _ = (sent.short_message[3] for sent in centre.submitted)
    assert first != second


def test_long_text_may_use_message_payload(centre: Centre, bound: Bound, kept: Kept) -> None:
    accepted = bound(long="payload").send(message(text=LONG_TEXT))

    (sent,) = centre.submitted
    payload = {tlv.tag: tlv.value for tlv in sent.tlvs}[MESSAGE_PAYLOAD]
    assert (payload.decode("utf-16-be"), sent.short_message, sent.esm_class) == (LONG_TEXT, b"", 0)
    assert (accepted, kept.events) == (Accepted("m00001"), [])


@pytest.mark.parametrize(
    ("alphabet", "text", "expected"),
    [
        ("gsm", "5 @ €", (b"5 \x00 \x1be", 0)),
        ("latin1", "5 @ é", (b"5 @ \xe9", 0)),
        ("latin1", "5 €", ("5 €".encode("utf-16-be"), 8)),
        ("ucs2", "5", (b"\x005", 8)),
    ],
)
def test_account_sets_the_default_alphabet(
    centre: Centre, bound: Bound, alphabet: str, text: str, expected: tuple[bytes, int]
) -> None:
    bound(alphabet=alphabet).send(message(text=text))

    (sent,) = centre.submitted
    assert (sent.short_message, sent.data_coding) == expected


@pytest.mark.parametrize(
    ("status", "kind", "code", "is_account"),
    [
        (0x0B, UnreachableError, "ESME_RINVDSTADR", False),
        (0x0A, RefusedError, "ESME_RINVSRCADR", True),
        (0x45, TransientError, "ESME_RSUBMITFAIL", False),
        (0x08, TransientError, "ESME_RSYSERR", False),
        (0x14, ThrottledError, "ESME_RMSGQFUL", False),
        (0x58, ThrottledError, "ESME_RTHROTTLED", True),
        (0x61, RefusedError, "ESME_RINVSCHED", False),
    ],
)
def test_status_maps_to_its_error(
    centre: Centre, bound: Bound, status: int, kind: type[SendError], code: str, *, is_account: bool
) -> None:
    centre.judge = respond_with(status)

    error = refused(bound())

    assert (type(error), error.code, error.account) == (kind, code, is_account)


def test_account_overrides_a_status(centre: Centre, bound: Bound) -> None:
    centre.judge = respond_with(0x45, 0x61)
    smpp = bound(statuses={"0x45": "unreachable", "97": "account"})

    assert isinstance(refused(smpp), UnreachableError)
    assert refused(smpp).account


def test_missing_response_is_ambiguous(centre: Centre, bound: Bound) -> None:
    centre.judge = keep_silent

    error = refused(bound(timeout=(0.1, 0.2)))

    assert (type(error), error.code) == (AmbiguousError, "no_answer")


def test_late_response_still_stores_the_id(centre: Centre, bound: Bound, kept: Kept) -> None:
    centre.judge = keep_silent
    refused(bound(timeout=(0.1, 0.2)), message(ref="att-9"))
    wait_until(lambda: bool(centre.submitted))

    accept(centre.submitted[0], "m77")

    assert kept.first() == Receipt("m77", "att-9", ReceiptState.SENT, "submit_sm_resp")


def test_late_refusal_still_fails_the_message(centre: Centre, bound: Bound, kept: Kept) -> None:
    centre.judge = keep_silent
    refused(bound(timeout=(0.1, 0.2)), message(ref="att-9"))
    wait_until(lambda: bool(centre.submitted))

    centre.submitted[0].reject(0x0B)

    first_receipt = kept.first()
    assert (first_receipt.ref, first_receipt.state, first_receipt.error_code) == (
        "att-9",
        ReceiptState.UNREACHABLE,
        "ESME_RINVDSTADR",
    )


def test_refusal_after_an_accepted_part_is_ambiguous(centre: Centre, bound: Bound) -> None:
    centre.judge = respond_with(0, 0x61)

    error = refused(bound(), message(text=LONG_TEXT))

    assert (type(error), error.code) == (AmbiguousError, "unfinished")
    assert error.detail == "1 of 2 parts were taken; the next: ESME_RINVSCHED"
    assert len(centre.submitted) == 2


def test_refusal_of_the_first_part_is_definite(centre: Centre, bound: Bound) -> None:
    centre.judge = respond_with(0x0B)

    assert isinstance(refused(bound(), message(text=LONG_TEXT)), UnreachableError)
    assert len(centre.submitted) == 1


def test_throttled_rest_of_a_message_is_tried_again_at_once(centre: Centre, bound: Bound) -> None:
    centre.judge = respond_with(0, 0x58, 0x14)

    accepted = bound().send(message(text=LONG_TEXT))

    assert accepted == Accepted("m00001+m00004")


def test_receipt_is_acknowledged_once_stored(centre: Centre, bound: Bound, kept: Kept) -> None:
    bound()
    kept.fails = 1

    refused_once = centre.deliver("id:m1 stat:DELIVRD err:000 text:482915")
    taken = centre.deliver("id:m1 stat:DELIVRD err:000 text:482915")

    assert (refused_once, taken) == (0x64, 0)
    assert kept.receipts == [
        Receipt("m1", None, ReceiptState.DELIVERED, "DELIVRD", phone="+998901234567")
    ]


def test_message_excerpt_is_not_stored(centre: Centre, bound: Bound, kept: Kept) -> None:
    bound()

    centre.deliver("id:m1 sub:001 dlvrd:001 stat:DELIVRD err:000 Text:482915 is your code")

    (events,) = kept.events
    assert b"stat:DELIVRD" in events.raw
    assert b"482915" not in events.raw


def test_message_from_a_phone_is_stored_as_a_reply(
    centre: Centre, bound: Bound, kept: Kept
) -> None:
    bound()

    assert centre.deliver("id:m1 stat:DELIVRD", esm_class=0) == 0

    reply = Reply("+998901234567", "id:m1 stat:DELIVRD")
    assert kept.events == [InboundEvents(b"", replies=[reply])]


def test_part_is_stored_after_repeated_failures(bound: Bound, kept: Kept) -> None:
    kept.fails = 1

    bound().send(message(text=LONG_TEXT))

    wait_until(lambda: len(kept.parts) == 2)
    assert {part.number for part in kept.parts} == {1, 2}


def test_flood_of_receipts_is_refused_until_others_are_stored(
    centre: Centre, bound: Bound, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound()
    monkeypatch.setattr(receipt_queue, "MAX_WAITING", 0)
    refused_status = centre.deliver("id:1 sub:001 dlvrd:001 stat:DELIVRD err:000 text:")
    monkeypatch.undo()

    assert (refused_status, centre.deliver("id:1 sub:001 stat:DELIVRD text:")) == (0x64, 0)
