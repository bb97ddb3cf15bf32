"""PDUs as other programs write them, and submit_sm as ours are written."""

import re
import struct

import pytest
import smpp34
from hypothesis import given, settings
from hypothesis import strategies as st
from smpplib import command_codes
from time_machine import TimeMachineFixture

from channels.providers.smpp import command_status, pdu
from channels.providers.smpp.pdu import MalformedError, SequenceGenerator
from channels.providers.smpp.submit_sm import MessageFormat, absolute_time, relative_time
from tests.channels.providers.centre import account
from tests.channels.providers.vendors import message

SUBMIT_RESP = 0x80000004
DELIVER = 0x05
DATA = 0x103
COMMANDS = sorted(command_codes.commands.values())
RECEIPT_TLV = b"\x00\x1e\x00\x03abc"


def octets(command: int, body: bytes = b"", state: int = 0, sequence: int = 7) -> bytes:
    return struct.pack(">4L", 16 + len(body), command, state, sequence) + body


def receipt_body(command: int) -> bytes:
    addresses = b"\0" + b"\1\1998901234567\0" + b"\5\0Kvitok\0"
    rest = b"\4\0\0" if command == DATA else b"\4\0\0" + b"\0\0" + b"\0\0\0\0" + b"\3abc"
    return addresses + rest


def test_somebody_elses_deliver_is_read() -> None:
    tlvs = [smpp34.Tlv(0x001E, b"abc"), smpp34.Tlv(0x1401, b"own")]
    made = smpp34.DeliverSm(
        "998901234567", "Kvitok", b"id:abc", esm_class=4, tlvs=tlvs, sequence_number=9
    )

    decoded = pdu.decode(made.encode())

    assert (decoded.name, decoded.sequence, decoded.is_response) == ("deliver_sm", 9, False)
    assert (decoded.fields["short_message"], decoded.fields["esm_class"]) == (b"id:abc", 4)
    assert decoded.tlvs == {0x001E: b"abc", 0x1401: b"own"}


def test_somebody_else_reads_our_submit() -> None:
    sequence, made = pdu.encode(
        "submit_sm",
        SequenceGenerator(),
        destination_addr="998901234567",
        source_addr="Kvitok",
        short_message=b"hello",
        validity_period="000000000500000R",
        registered_delivery=1,
    )

    read = smpp34.decode(made)

    assert isinstance(read, smpp34.SubmitSm)
    assert (read.short_message, read.validity_period, read.registered_delivery) == (
        b"hello",
        "000000000500000R",
        1,
    )
    assert read.sequence_number == sequence


def test_response_with_unexpected_parameters_is_decoded() -> None:
    body = b"m1\0" + struct.pack(">HH", 0x001D, 3) + b"why"

    decoded = pdu.decode(octets(SUBMIT_RESP, body))

    assert (decoded.fields["message_id"], decoded.tlvs) == (b"m1", {0x001D: b"why"})


@pytest.mark.parametrize("status", [0x58, 0])
@pytest.mark.parametrize(
    "body",
    [
        struct.pack(">HH", 0x001D, 3) + b"why",  # optional parameters and no id
        b"\0" + struct.pack(">HH", 0x001D, 9) + b"why",
        b"\xff" * 70,
        b"\0\0\0",
    ],
)
def test_response_is_classified_by_its_header(status: int, body: bytes) -> None:
    decoded = pdu.decode(octets(SUBMIT_RESP, body, status))

    assert (decoded.name, decoded.status, decoded.sequence) == ("submit_sm_resp", status, 7)


@pytest.mark.parametrize("rest", [b"", b"\0", b"\0\0\0", b"\x00\x1e\x00\xff", b"\xff" * 9])
def test_octets_behind_a_whole_response_are_ignored(rest: bytes) -> None:
    assert pdu.decode(octets(SUBMIT_RESP, b"m1\0" + rest)).fields == {"message_id": b"m1"}


def test_id_without_its_nul_is_whole() -> None:
    assert pdu.decode(octets(SUBMIT_RESP, b"m12")).fields == {"message_id": b"m12"}


@pytest.mark.parametrize("rest", [b"\0", b"\0\0\0", b"\x14\x01\x00\xff", b"\xff" * 9])
@pytest.mark.parametrize("command", [DELIVER, DATA])
def test_octets_behind_a_whole_receipt_are_ignored(command: int, rest: bytes) -> None:
    decoded = pdu.decode(octets(command, receipt_body(command) + RECEIPT_TLV + rest))

    assert (decoded.is_readable, decoded.tlvs) == (True, {0x001E: b"abc"})


@pytest.mark.parametrize("command", [DELIVER, DATA])
def test_receipt_that_is_cut_short_is_unreadable(command: int) -> None:
    whole = receipt_body(command) + RECEIPT_TLV

    readable = [
        length
        for length in range(len(whole))
        if pdu.decode(octets(command, whole[:length])).is_readable
    ]

    # Up to the optional parameter, and with less than its tag and length.
    assert readable == list(range(len(whole) - len(RECEIPT_TLV), len(whole) - 3))


@pytest.mark.parametrize("name", ["", "outbind", "submit_multi", "cancel_sm", "replace_sm"])
def test_request_that_is_not_known_is_nacked_by_its_sequence(name: str) -> None:
    command = command_codes.commands[name] if name else 0x99

    with pytest.raises(MalformedError) as caught:
        pdu.decode(octets(command, b"centre\0secret\0" if name else b""))

    assert (caught.value.sequence, caught.value.is_response) == (7, False)


@settings(deadline=None, max_examples=300)
@given(st.sampled_from([*COMMANDS, 0x99, 0x80000099]), st.binary(max_size=120))
def test_arbitrary_pdu_is_parsed_or_refused(command: int, body: bytes) -> None:
    try:
        sequence = pdu.decode(octets(command, body)).sequence
    except MalformedError as error:
        sequence = error.sequence

    assert sequence == 7


def test_status_of_the_vendors_own_has_its_number_for_a_name() -> None:
    error = command_status.refusal(0x401, {})

    assert (error.code, error.detail) == ("0x401", "a status of the vendor's own")


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (300, "000000000500000R"),
        (86_400 + 3_661, "000001010101000R"),
        (0, "000000000001000R"),
        (10**9, "000030000000000R"),
    ],
)
def test_validity_is_a_relative_time(seconds: int, written: str) -> None:
    assert relative_time(seconds) == written


def test_absolute_validity_is_in_utc(time_machine: TimeMachineFixture) -> None:
    time_machine.move_to("2026-03-01T23:58:00+03:00")

    assert absolute_time(300) == "260301210300000+"


@pytest.mark.parametrize(
    ("source", "ton", "npi"),
    [
        ("Kvitok", 5, 0),
        ("ElevenChars", 5, 0),
        ("+79161234567", 1, 1),
        ("1234567", 1, 1),
        ("900", 3, 0),
        ("12345", 3, 0),
    ],
)
def test_sender_is_a_name_a_number_or_a_short_code(source: str, ton: int, npi: int) -> None:
    style = MessageFormat(source, -1, -1, 1, 1, "gsm", "udh")

    (fields,) = style.submissions(message(), 1)

    assert (fields["source_addr_ton"], fields["source_addr_npi"]) == (ton, npi)
    assert fields["source_addr"] == source.removeprefix("+")


@pytest.mark.parametrize(
    ("validity", "pattern"), [("relative", r"\d{15}R"), ("absolute", r"\d{15}\+"), ("none", "")]
)
def test_validity_period_has_the_configured_format(validity: str, pattern: str) -> None:
    style = MessageFormat("Kvitok", -1, -1, 1, 1, "gsm", "udh", validity)

    (fields,) = style.submissions(message(), 1)

    assert re.fullmatch(pattern, fields["validity_period"])


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("password", "123456789"),
        ("system_id", "x" * 16),
        ("system_type", "пароль"),
        ("source", "Квиток"),
        ("source", "TwelveLetter"),
        ("source", "1234567890123456"),
        ("source", ""),
        ("validity", "always"),
        ("host", "a.example:0"),
        ("alphabet", "utf-8"),
        ("long", "sar"),
        ("statuses", {"0x45": "nonsense"}),
        ("receipt_states", {"FAILED": "nonsense"}),
    ],
)
def test_oversized_setting_is_refused(setting: str, value: object) -> None:
    with pytest.raises(ValueError, match=setting) as caught:
        account(2775, **{setting: value})

    assert "123456789" not in str(caught.value)
