"""Receipts as real message centres write them, and ids in hexadecimal and decimal."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.providers.inbound import Receipt, ReceiptState, Reply
from channels.providers.smpp.pdu import Pdu
from channels.providers.smpp.receipts import (
    ID_FORMATS,
    ReceiptFormat,
    parse_states,
    raw,
    read,
    receipt,
    reply,
)

ID = 0x001E
STATE = 0x0427
ERROR = 0x0423
PAYLOAD = 0x0424
SAME = ReceiptFormat(ID_FORMATS["same"])
PLAIN: dict[str, object] = {"esm_class": 0, "data_coding": 0}
FULL = "id:7 sub:001 dlvrd:001 submit date:2511200900 done date:2511200901 stat:{} err:000 text:"


def deliver(line: str = "", esm_class: int = 4, tlvs: dict[int, bytes] | None = None) -> Pdu:
    fields = {"short_message": line.encode("latin-1"), "esm_class": esm_class}
    return Pdu("deliver_sm", 0, 1, is_response=False, fields=fields, tlvs=tlvs or {})


def parsed(one: Pdu) -> tuple[str | None, str, str | None] | None:
    result = receipt(one, SAME)
    return None if result is None else (result.provider_id, result.vendor_status, result.error_code)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "id:m00001 sub:001 dlvrd:001 submit date:2511200900 done date:2511200901"
            " stat:DELIVRD err:000 text:Your code",
            ("m00001", "DELIVRD", None),
        ),
        (
            "id:40072910491427628 sub:001 dlvrd:000 submit date:100729104900"
            " done date:100729104907 stat:UNDELIV err:075 text:-PROFILE",
            ("40072910491427628", "UNDELIV", "075"),
        ),
        (
            "id:0118Z-0122I-2309U-57DGB sub:000 dlvrd:000 submitdate:180122230957"
            " donedate:000000000000 stat:REJECTD err:375 text:",
            ("0118Z-0122I-2309U-57DGB", "REJECTD", "375"),
        ),
        ("ID:7 STAT:expired ERR:1", ("7", "EXPIRED", "1")),
        ("stat:DELIVRD id:7", ("7", "DELIVRD", None)),
        ("id:7 stat:DELIVRD text:id:8 stat:UNDELIV", ("7", "DELIVRD", None)),
        ("id:7 submit date: done date: stat:REJECTD err: text:", ("7", "REJECTD", None)),
        ("id:7 sub: stat:DELIVRD", ("7", "DELIVRD", None)),
        ("id:7\r\nstat:DELIVRD\nerr:5", ("7", "DELIVRD", "5")),
        ("id:7 stat:BUFFRED", ("7", "BUFFRED", None)),
        ("id:7 stat:FAILED err:1", ("7", "FAILED", "1")),
        ("id:7\x0b1 stat:DELIVRD", None),  # not the id 7
        ("id:7\x851 stat:DELIVRD", None),
        ("id:7 stat:DELIVRD\x1c", None),
        ("id: stat:DELIVRD", None),
        ("id:7 stat:", None),
        ("id:7 stat:UNKNOWN", None),
        ("id:7 stat:ODDWORD", None),
        ("stat:DELIVRD", None),
        ("", None),
    ],
)
def test_receipt_is_read_from_a_line_of_text(
    line: str, expected: tuple[str, str, str | None] | None
) -> None:
    assert parsed(deliver(line)) == expected


@pytest.mark.parametrize(
    ("line", "network", "state"),
    [
        ("stat:UNDELIV err:098", b"", ReceiptState.BARRED),  # the centre's own code
        ("stat:REJECTD err:098", b"", ReceiptState.BARRED),
        ("stat:UNDELIV err:000", b"\x03\x00\x0d", ReceiptState.BARRED),  # GSM: call barred
        ("stat:UNDELIV err:000", b"\x01\x00\x0d", ReceiptState.UNREACHABLE),  # ANSI 136: another
        ("stat:UNDELIV err:013", b"", ReceiptState.UNREACHABLE),
        ("stat:DELIVRD err:098", b"", ReceiptState.DELIVERED),
        ("stat:EXPIRED err:098", b"", ReceiptState.EXPIRED),
    ],
)
def test_subscriber_may_bar_mass_sms(line: str, network: bytes, state: ReceiptState) -> None:
    tlvs = {ERROR: network} if network else {}

    known = ReceiptFormat(ID_FORMATS["same"], barred_errors=frozenset({"098"}))
    result = receipt(deliver(f"id:7 {line}", tlvs=tlvs), known)

    assert result is not None
    assert result.state is state


@pytest.mark.parametrize(
    ("state", "meaning"),
    [
        (0, ReceiptState.SENT),
        (1, ReceiptState.SENT),
        (2, ReceiptState.DELIVERED),
        (3, ReceiptState.EXPIRED),
        (4, ReceiptState.FAILED),
        (5, ReceiptState.UNREACHABLE),
        (6, ReceiptState.SENT),
        (8, ReceiptState.FAILED),
        (9, ReceiptState.FAILED),
    ],
)
def test_optional_parameters_suffice_without_text(state: int, meaning: ReceiptState) -> None:
    tlvs = {ID: b"m1\0", STATE: bytes([state]), ERROR: b"\x03\x00\x12"}

    result = receipt(deliver(tlvs=tlvs), SAME)

    assert result is not None
    assert (result.provider_id, result.state, result.error_code) == ("m1", meaning, "18")


@pytest.mark.parametrize("octets", [b"\2\0", b"\0\0\0\2"])
def test_state_may_be_a_longer_number(octets: bytes) -> None:
    assert parsed(deliver(tlvs={ID: b"m1", STATE: octets})) == ("m1", "DELIVRD", None)


@pytest.mark.parametrize(
    ("line", "state", "word"),
    [
        ("id:m2 stat:UNDELIV err:000", 2, "DELIVRD"),
        # Version 3.4 does not have these numbers, so the text counts.
        ("id:m1 stat:DELIVRD", 9, "DELIVRD"),
        ("id:m1 stat:DELIVRD", 77, "DELIVRD"),
    ],
)
def test_optional_parameters_override_the_text(line: str, state: int, word: str) -> None:
    tlvs = {ID: b"m1", STATE: bytes([state])}  # an id without its NUL

    assert parsed(deliver(line, tlvs=tlvs)) == ("m1", word, None)


@pytest.mark.parametrize("ids", ["same", "auto"])
@pytest.mark.parametrize(
    ("answered", "parameter", "line"),
    [
        ("0298d520-b783-49d9", "0298d520b78349d9", "0298d520-b783-49d9"),
        ("0298d520-b783-49d9", "0298d520-b783-49d9", "0298D520B78349D9"),
        ("m1", "another", "m1"),
        ("m1", "m1", "another"),
    ],
)
def test_centre_may_write_the_id_in_two_ways(
    ids: str, answered: str, parameter: str, line: str
) -> None:
    """One is that of the response: centres of Jasmin leave out hyphens only of the parameter."""
    tlvs = {ID: parameter.encode(), STATE: b"\x02"}
    written = ReceiptFormat(ID_FORMATS[ids])

    result = receipt(deliver(f"id:{line} stat:DELIVRD", tlvs=tlvs), written)

    assert result is not None
    assert written.ids.from_response(answered) in {result.provider_id, *result.alternatives}


def test_text_may_come_in_message_payload() -> None:
    assert parsed(deliver(tlvs={PAYLOAD: b"id:7 stat:DELIVRD"})) == ("7", "DELIVRD", None)


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("ACKED", ReceiptState.SENT),
        ("BUFFERED", ReceiptState.SENT),
        ("SCHEDULED", ReceiptState.SENT),
        ("SKIPPED", ReceiptState.FAILED),
        ("FAILED", ReceiptState.FAILED),
    ],
)
def test_words_beyond_the_standard_are_known(word: str, state: ReceiptState) -> None:
    result = receipt(deliver(f"id:7 stat:{word}"), SAME)

    assert result is not None
    assert result.state is state


@pytest.mark.parametrize(
    ("own", "line", "tlvs", "state"),
    [
        ({"noroute": "unreachable"}, "id:7 stat:NOROUTE", {}, "unreachable"),
        ({"FAILED": "expired"}, "id:7 stat:FAILED", {}, "expired"),
        ({"DELIVERED": "sent"}, "id:7 stat:DELIVRD", {}, "sent"),
        ({"UNKNOWN": "failed"}, "id:7 stat:UNKNOWN", {}, "failed"),
        ({"9": "unreachable"}, "", {ID: b"7", STATE: b"\x09"}, "unreachable"),
        ({"10": "delivered"}, "", {ID: b"7", STATE: b"\x0a"}, "delivered"),
        ({"ACKED": "ignored"}, "id:7 stat:ACKED", {}, None),
    ],
)
def test_account_specific_states_are_read(
    own: dict[str, str], line: str, tlvs: dict[int, bytes], state: str | None
) -> None:
    result = receipt(deliver(line, tlvs=tlvs), ReceiptFormat(ID_FORMATS["same"], parse_states(own)))

    assert (result and result.state) == state


@pytest.mark.parametrize(
    ("line", "tlvs", "reported"),
    [
        ("id:7 stat:ODDWORD", {}, ["ODDWORD"]),
        (FULL.format("x\x00<script>"), {}, ["no state"]),
        ("id:7 stat:" + "A" * 90, {}, ["A" * 20]),
        ("", {ID: b"7", STATE: b"\x63"}, ["99"]),
        ("stat:DELIVRD", {}, ["DELIVRD"]),
        ("nothing of a receipt", {}, ["no state"]),
        ("id:7 stat:UNKNOWN", {}, []),
    ],
)
def test_unknown_receipt_is_reported(
    line: str, tlvs: dict[int, bytes], reported: list[str]
) -> None:
    events = read(deliver(line, tlvs=tlvs), SAME)

    alerts = events.alerts if events else []
    assert [(alert.code, alert.detail) for alert in alerts] == [
        ("receipt", word) for word in reported
    ]


@pytest.mark.parametrize("esm_class", [0x00, 0x40, 0x08, 0x10])
def test_deliver_sm_of_another_class_is_not_a_receipt(esm_class: int) -> None:
    assert receipt(deliver("id:7 stat:DELIVRD", esm_class), SAME) is None


@pytest.mark.parametrize("esm_class", [0x04, 0x20, 0x24 & 0x3C, 0x44])
def test_final_and_intermediate_receipts_are_read(esm_class: int) -> None:
    result = receipt(deliver("id:7 stat:ENROUTE", 0x20 if esm_class == 0x24 else esm_class), SAME)

    assert result == Receipt("7", None, ReceiptState.SENT, "ENROUTE")


@pytest.mark.parametrize(
    ("setting", "answered", "receipted"),
    [
        ("same", "00aF", "00aF"),
        ("hex", "00aF", "AF"),
        ("decimal", "0175", "175"),
        ("hex-decimal", "AF", "0000000175"),
        ("decimal-hex", "175", "00af"),
    ],
)
def test_id_formats_match_response_and_receipt(setting: str, answered: str, receipted: str) -> None:
    spelling = ID_FORMATS[setting]

    assert spelling.from_receipt(receipted) == (spelling.from_response(answered),)


@pytest.mark.parametrize(
    ("answered", "receipted"),
    [
        ("00aF", "00aF"),
        ("0175", "175"),
        ("175", "00af"),
        ("00000175", "000000AF"),
        ("0118Z-0122I-2309U-57DGB", "0118z-0122i-2309u-57dgb"),
        ("9" * 40, "9" * 40),
        ("0", "00"),
    ],
)
def test_auto_format_recognises_an_id(answered: str, receipted: str) -> None:
    spelling = ID_FORMATS["auto"]

    assert spelling.from_response(answered) in spelling.from_receipt(receipted)


def test_id_of_any_length_is_read() -> None:
    assert ID_FORMATS["auto"].from_receipt("9" * 10_000) == ("9" * 10_000,)
    assert ID_FORMATS["hex"].from_receipt("f" * 10_000) != ()


def test_id_that_is_not_a_number_is_kept_unchanged() -> None:
    assert {format_.from_response("m-1") for format_ in ID_FORMATS.values()} == {"m-1"}
    assert {format_.from_receipt("m-1") for format_ in ID_FORMATS.values()} == {("m-1",)}


@pytest.mark.parametrize("word", ["DELIVRD", "DELIVERED"])
def test_receipt_without_its_esm_class_is_known_by_its_form(word: str) -> None:
    assert parsed(deliver(FULL.format(word), esm_class=0)) == ("7", "DELIVRD", None)


def test_receipt_without_esm_class_is_known_by_tlvs() -> None:
    tlvs = {ID: b"m1\0", STATE: b"\x02"}

    assert parsed(deliver("", esm_class=0, tlvs=tlvs)) == ("m1", "DELIVRD", None)


@pytest.mark.parametrize(
    "line", ["id:7 stat:DELIVRD", "sub:001 stat:DELIVRD", "STOP", "id: my id is 7 and stat: fine"]
)
def test_incomplete_line_is_not_a_receipt(line: str) -> None:
    assert receipt(deliver(line, esm_class=0), SAME) is None


@pytest.mark.parametrize("coding", [8, 0])  # said, and forgotten
def test_receipt_in_ucs2_is_read(coding: int) -> None:
    pdu = deliver()
    pdu.fields.update(short_message=FULL.format("UNDELIV").encode("utf-16-be"), data_coding=coding)

    assert parsed(pdu) == ("7", "UNDELIV", None)


@pytest.mark.parametrize(
    ("esm_class", "fields", "found"),
    [
        (4, {"source_addr": b"79161234567\0", "source_addr_ton": 1}, ("+79161234567", False)),
        # The addresses as the message had them; national, as nothing says otherwise.
        (
            4,
            {"source_addr": b"Kvitok\0", "destination_addr": b"89161234567\0"},
            ("89161234567", False),
        ),
        # A person may have written it, from another phone.
        (0, {"source_addr": b"BANK\0", "destination_addr": b"79161234567\0"}, ("", True)),
    ],
)
def test_receipt_names_the_phone_it_is_about(
    esm_class: int, fields: dict[str, object], found: tuple[str, bool]
) -> None:
    pdu = deliver(FULL.format("DELIVRD"), esm_class)
    pdu.fields.update(fields)

    heard = receipt(pdu, SAME)

    assert heard is not None
    assert (heard.phone, heard.needs_phone) == found


@settings(deadline=None, max_examples=200)
@given(
    st.binary(max_size=254),
    st.integers(0, 255),
    st.dictionaries(st.sampled_from([ID, STATE, ERROR, PAYLOAD]), st.binary(max_size=70)),
)
def test_arbitrary_input_never_raises(
    octets: bytes, esm_class: int, tlvs: dict[int, bytes]
) -> None:
    pdu = deliver(octets.decode("latin-1"), esm_class, tlvs)

    read(pdu, SAME)

    assert isinstance(raw(pdu), bytes)


@pytest.mark.parametrize(
    ("fields", "expected_reply"),
    [
        ({"short_message": b"STOP"}, Reply("+79161234567", "STOP")),
        (
            {"short_message": "Стоп".encode("utf-16-be"), "data_coding": 8},
            Reply("+79161234567", "Стоп"),
        ),
        *(
            (
                {"short_message": "Стоп".encode(encoding), "data_coding": coding},
                Reply("+79161234567", "Стоп"),
            )
            for encoding, coding in [
                ("utf-16-be", 0x18),  # with a message class
                ("utf-16-be", 0),
                ("utf-16", 8),  # little-endian, as its mark says
                ("iso8859-5", 6),
                ("utf-8", 0),
            ]
        ),
        ({"short_message": "è una città".encode("latin-1")}, Reply("+79161234567", "è una città")),
        (
            {"source_addr": b"+79161234567\0", "short_message": b"stop"},
            Reply("+79161234567", "stop"),
        ),
        ({"short_message": b"id:7 stat:DELIVRD", "esm_class": 4}, None),
        ({"short_message": b"\x05\x00\x03\x01\x02\x01STOP", "esm_class": 0x40}, None),
        ({"short_message": b"STOP", "source_addr": b"BANK\0"}, Reply("", "STOP", "BANK")),
        ({"short_message": b"STOP", "source_addr": b"900"}, Reply("", "STOP", "900")),
        ({"short_message": b"\x04", "data_coding": 8}, Reply("+79161234567", "\ufffd")),
    ],
)
def test_message_from_a_phone_is_read_as_a_reply(
    fields: dict[str, object], expected_reply: Reply | None
) -> None:
    known = {"source_addr": b"79161234567\0", "source_addr_ton": 1} | PLAIN

    receipt = Pdu("deliver_sm", 0, 1, is_response=False, fields=known | fields, tlvs={})

    assert reply(receipt) == expected_reply
