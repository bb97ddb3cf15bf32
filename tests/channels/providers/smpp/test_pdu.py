"""PDUs as other programs write them: parsed completely, or refused by sequence number."""

import struct

import pytest
import smpp34
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.providers.smpp import command_status, pdu
from channels.providers.smpp.pdu import MalformedError, SequenceGenerator

SUBMIT_RESP, DELIVER = 0x80000004, 0x05


def octets(command: int, body: bytes = b"", state: int = 0, sequence: int = 7) -> bytes:
    return struct.pack(">4L", 16 + len(body), command, state, sequence) + body


def test_somebody_elses_deliver_is_read() -> None:
    tlvs = [smpp34.Tlv(0x001E, b"abc"), smpp34.Tlv(0x1401, b"own")]
    made = smpp34.DeliverSm(
        "998901234567", "Kvitok", b"id:abc", esm_class=4, tlvs=tlvs, sequence_number=9
    )

    one = pdu.decode(made.encode())

    assert (one.name, one.sequence, one.is_response) == ("deliver_sm", 9, False)
    assert (one.fields["short_message"], one.fields["esm_class"]) == (b"id:abc", 4)
    assert one.tlvs == {0x001E: b"abc", 0x1401: b"own"}


def test_somebody_else_reads_our_submit() -> None:
    sequence, made = pdu.encode(
        "submit_sm", SequenceGenerator(), destination_addr="998901234567", source_addr="Kvitok",
        short_message=b"hello", validity_period="000000000500000R", registered_delivery=1,
    )  # fmt: skip

    read = smpp34.decode(made)

    assert isinstance(read, smpp34.SubmitSm)
    assert (read.short_message, read.validity_period, read.registered_delivery) == (
        b"hello", "000000000500000R", 1,
    )  # fmt: skip
    assert read.sequence_number == sequence


def test_answer_with_parameters_that_the_standard_does_not_expect_there() -> None:
    body = b"m1\0" + struct.pack(">HH", 0x001D, 3) + b"why"

    one = pdu.decode(octets(SUBMIT_RESP, body))

    assert (one.fields["message_id"], one.tlvs) == (b"m1", {0x001D: b"why"})


def test_refusal_without_a_body() -> None:
    one = pdu.decode(octets(SUBMIT_RESP, state=0x58))

    assert (one.status, one.is_response, one.tlvs) == (0x58, True, {})


@pytest.mark.parametrize(
    ("made", "is_response"),
    [
        (octets(0x99), False),
        (octets(DELIVER, b"\0\1\1"), False),
        (octets(DELIVER, bytes(16) + b"\5abc"), False),  # of five octets three came
        (octets(SUBMIT_RESP, b"m1\0\x00\x1e\x00\xff"), True),
    ],
)
def test_malformed_pdu_is_nacked_by_its_sequence(made: bytes, *, is_response: bool) -> None:
    with pytest.raises(MalformedError) as caught:
        pdu.decode(made)

    assert (caught.value.sequence, caught.value.is_response) == (7, is_response)


@settings(deadline=None, max_examples=300)
@given(st.sampled_from([DELIVER, SUBMIT_RESP, 0x15, 0x80000000, 0x103]), st.binary(max_size=120))
def test_arbitrary_pdu_is_parsed_or_refused(command: int, body: bytes) -> None:
    try:
        sequence = pdu.decode(octets(command, body)).sequence
    except MalformedError as error:
        sequence = error.sequence

    assert sequence == 7


def test_status_of_the_vendors_own_has_its_number_for_a_name() -> None:
    error = command_status.refusal(0x401, {})

    assert (error.code, error.detail) == ("0x401", "a status of the vendor's own")
