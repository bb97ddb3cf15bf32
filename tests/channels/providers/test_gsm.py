"""The SMS splitter, checked with an independent decoder and the rules of handsets."""

from unicodedata import category

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.providers import gsm
from channels.providers.gsm import Alphabet, alphabet_of, count_segments, encode, header, split

# 3GPP TS 23.038 §6.2.1, row by row as the standard prints it.
TABLE = [
    "@Δ 0¡P¿p",
    "£_!1AQaq",
    '$Φ"2BRbr',
    "¥Γ#3CScs",
    "èΛ¤4DTdt",
    "éΩ%5EUeu",
    "ùΠ&6FVfv",
    "ìΨ'7GWgw",
    "òΣ(8HXhx",
    "ÇΘ)9IYiy",
    "\nΞ*:JZjz",
    "Ø\x1b+;KÄkä",
    "øÆ,<LÖlö",
    "\ræ-=MÑmñ",
    "Åß.>NÜnü",
    "åÉ/?O§oà",
]
EXTENSION = {
    0x0A: "\f",
    0x14: "^",
    0x28: "{",
    0x29: "}",
    0x2F: "\\",
    0x3C: "[",
    0x3D: "~",
    0x3E: "]",
    0x40: "|",
    0x65: "€",
}
GSM = "".join(sorted({*"".join(TABLE), *EXTENSION.values()} - {"\x1b"}))
TEXTS = st.one_of(
    st.text(alphabet=GSM, max_size=700),
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=400),
    st.text(alphabet="a€😀я[", max_size=400),
)


def read_septets(octets: bytes) -> str:
    """Decodes the text as a phone does: a septet per octet, with an escape to the second table."""
    shown = []
    escaped = False
    for octet in octets:
        if octet == 0x1B and not escaped:
            escaped = True
            continue
        shown.append(EXTENSION[octet] if escaped else TABLE[octet % 16][octet // 16])
        escaped = False
    assert not escaped, "an escape was cut off from what it escapes"
    return "".join(shown)


def read(piece: bytes, alphabet: Alphabet) -> str:
    return read_septets(piece) if alphabet is Alphabet.GSM else piece.decode("utf-16-be")


@pytest.mark.parametrize(
    ("text", "alphabet", "lengths"),
    [
        ("", Alphabet.GSM, [0]),
        ("x" * 160, Alphabet.GSM, [160]),
        ("x" * 161, Alphabet.GSM, [153, 8]),
        ("€" * 80, Alphabet.GSM, [160]),
        ("€" * 81, Alphabet.GSM, [152, 10]),  # the 153rd septet would be an escape
        ("x" + "€" * 81, Alphabet.GSM, [153, 10]),
        ("😀" * 35, Alphabet.UCS2, [140]),
        ("😀" * 36, Alphabet.UCS2, [132, 12]),  # the 67th unit would be half a face
        ("я" * 70, Alphabet.UCS2, [140]),
        ("я" * 71, Alphabet.UCS2, [134, 8]),
        ("`", Alphabet.UCS2, [2]),
        ("§", Alphabet.GSM, [1]),
    ],
)
def test_parts_are_as_long_as_they_may_be(
    text: str, alphabet: Alphabet, lengths: list[int]
) -> None:
    result = split(text)

    octets = [encode(piece, result.alphabet) for piece in result.pieces]
    assert (result.alphabet, [len(octet) for octet in octets]) == (alphabet, lengths)


def test_section_sign_is_gsm_and_a_backtick_is_ucs2() -> None:
    assert encode("§", Alphabet.GSM) == b"\x5f"
    assert encode("`", alphabet_of("`")) == b"\x00`"


def test_every_place_of_the_alphabet_reads_back() -> None:
    assert len(GSM) == 127 + 10
    assert read_septets(encode(GSM, Alphabet.GSM)) == GSM


@settings(deadline=None, max_examples=200)
@given(TEXTS)
def test_encoded_text_decodes_unchanged(text: str) -> None:
    result = split(text)

    parts = [encode(piece, result.alphabet) for piece in result.pieces]

    assert "".join(read(part, result.alphabet) for part in parts) == text


@settings(deadline=None, max_examples=200)
@given(TEXTS)
def test_part_fits_and_could_not_have_held_the_next_character(text: str) -> None:
    result = split(text)
    per_octet = 1 if result.alphabet is Alphabet.GSM else 2
    alone, joined = (160, 153) if result.alphabet is Alphabet.GSM else (70, 67)
    room = alone if len(result.pieces) == 1 else joined

    lengths = [len(encode(piece, result.alphabet)) // per_octet for piece in result.pieces]

    assert max(lengths) <= room
    for length, following in zip(lengths, result.pieces[1:], strict=False):
        assert length + len(encode(following[0], result.alphabet)) // per_octet > room


@settings(deadline=None, max_examples=100)
@given(TEXTS)
def test_price_and_parts_agree(text: str) -> None:
    result = split(text)

    counted = gsm.count_segments(text)

    assert (counted.segments, counted.units) == (len(result.pieces), result.units)


@settings(deadline=None, max_examples=50)
@given(st.text(alphabet=GSM, max_size=300))
def test_plain_text_may_be_sent_in_ucs2_all_the_same(text: str) -> None:
    result = split(text, Alphabet.UCS2)

    assert result.alphabet is Alphabet.UCS2
    assert (
        "".join(encode(piece, Alphabet.UCS2).decode("utf-16-be") for piece in result.pieces) == text
    )


def test_no_character_is_written_that_another_table_would_read() -> None:
    greek = [char for char in map(chr, range(0x370, 0x400)) if category(char) == "Lu"]

    ours = {char for char in greek if alphabet_of(char) is Alphabet.GSM}

    assert ours == set("ΓΔΘΛΞΠΣΦΨΩ")


def test_header_joins_parts_by_an_8_bit_reference() -> None:
    assert header(0x1A7, 3, 2) == b"\x05\x00\x03\xa7\x03\x02"


@pytest.mark.parametrize(
    ("text", "encoding", "units", "segments"),
    [
        ("x" * 160, "GSM-7", 160, 1),
        ("x" * 161, "GSM-7", 161, 2),
        ("€" * 152, "GSM-7", 304, 2),  # 76 to a part: the 153rd septet stays empty
        ("€" * 153, "GSM-7", 306, 3),
        ("x" * 153 + "€" * 76 + "x", "GSM-7", 306, 2),
        ("\f^{}\\[~]|", "GSM-7", 18, 1),
        ("ç", "UCS-2", 1, 1),  # only its capital is in the alphabet
        ("я" * 70, "UCS-2", 70, 1),
        ("я" * 71, "UCS-2", 71, 2),
        ("😀" * 66, "UCS-2", 132, 2),  # 33 to a part: the 67th unit stays empty
        ("Ваш код 482915. Никому его не сообщайте. https://l.example.com/bcdf", "UCS-2", 67, 1),
    ],
)
def test_counts_as_the_handset_would(text: str, encoding: str, units: int, segments: int) -> None:
    counted = count_segments(text)

    assert (counted.encoding, counted.units, counted.segments) == (encoding, units, segments)
