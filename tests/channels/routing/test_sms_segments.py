import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.routing.sms_segments import Segments, count

GSM = (
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)


@pytest.mark.parametrize(
    ("text", "encoding", "units", "segments"),
    [
        ("", "GSM-7", 0, 1),
        ("x" * 160, "GSM-7", 160, 1),
        ("x" * 161, "GSM-7", 161, 2),
        ("x" * 306, "GSM-7", 306, 2),
        ("x" * 307, "GSM-7", 307, 3),
        ("€" * 80, "GSM-7", 160, 1),
        ("€" * 81, "GSM-7", 162, 2),
        ("€" * 152, "GSM-7", 304, 2),  # 76 to a part: the 153rd septet stays empty
        ("€" * 153, "GSM-7", 306, 3),
        ("x" + "€" * 152, "GSM-7", 305, 2),
        ("x" * 153 + "€" * 76 + "x", "GSM-7", 306, 2),
        ("\f^{}\\[~]|", "GSM-7", 18, 1),
        ("§", "GSM-7", 1, 1),
        ("`", "UCS-2", 1, 1),
        ("ç", "UCS-2", 1, 1),  # only its capital is in the alphabet
        ("\t", "UCS-2", 1, 1),
        ("я" * 70, "UCS-2", 70, 1),
        ("я" * 71, "UCS-2", 71, 2),
        ("я" * 134, "UCS-2", 134, 2),
        ("я" * 135, "UCS-2", 135, 3),
        ("😀" * 35, "UCS-2", 70, 1),
        ("😀" * 36, "UCS-2", 72, 2),
        ("😀" * 66, "UCS-2", 132, 2),  # 33 to a part: the 67th unit stays empty
        ("😀" * 67, "UCS-2", 134, 3),
        ("Ваш код 482915. Никому его не сообщайте. https://l.example.com/bcdf", "UCS-2", 67, 1),
    ],
)
def test_counts_as_the_handset_would(text: str, encoding: str, units: int, segments: int) -> None:
    counted = count(text)

    assert (counted.encoding, counted.units, counted.segments) == (encoding, units, segments)


def test_knows_the_whole_default_alphabet() -> None:
    assert len(set(GSM)) == 127  # the 128th place is the escape
    assert count(GSM) == Segments("GSM-7", 127, 1)


@settings(deadline=None, max_examples=40)
@given(st.text(alphabet=GSM + "\f^{}\\[~]|€", max_size=2000))
def test_gsm_segments_hold_the_text_and_waste_at_most_a_septet_each(text: str) -> None:
    counted = count(text)

    assert counted.encoding == "GSM-7"
    assert_fits(counted, 160, 153)


@settings(deadline=None, max_examples=40)
@given(st.text(max_size=700).filter(lambda text: count(text).encoding == "UCS-2"))
def test_ucs2_units_are_utf16_and_segments_hold_them(text: str) -> None:
    counted = count(text)

    assert counted.units == len(text.encode("utf-16-le", "surrogatepass")) // 2
    assert_fits(counted, 70, 67)


def assert_fits(counted: Segments, alone: int, joined: int) -> None:
    if counted.units <= alone:
        assert counted.segments == 1
    else:
        assert counted.units <= counted.segments * joined
        assert counted.units > (counted.segments - 1) * (joined - 1)


@settings(deadline=None, max_examples=40)
@given(st.text(max_size=400), st.text(max_size=400))
def test_a_longer_text_never_costs_less(start: str, end: str) -> None:
    assert count(start + end).segments >= count(start).segments
