import pytest

from tools.simulator.messages import code_in, count_segments, links_in


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Ваш код: 123456", "123456"),
        ("123456 — ваш код.", "123456"),
        ("Код 12345678. Никому не говорите", "12345678"),
        ("1234", "1234"),
        ("<#> 004821 app", "004821"),
        ("123 и 123456789", None),
        ("https://kv.example/123456", None),
        ("Код 4821, ссылка https://kv.example/99887766", "4821"),
        ("Звоните +77010000001 или +7701000", None),
        ("abc1234 1234abc", None),
        ("20.11.2026 и 10:4512", None),
        ("Сумма 1500,50", None),
        ("", None),
    ],
)
def test_code_is_a_group_of_digits_that_stands_alone(text: str, code: str | None) -> None:
    assert code_in(text) == code


def test_links_come_in_order_once_and_without_punctuation() -> None:
    text = "Смотри (https://a.example/x?y=1), http://b.example. И https://a.example/x?y=1!"

    assert links_in(text) == ["https://a.example/x?y=1", "http://b.example"]


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        ("", 1),
        ("x" * 160, 1),
        ("x" * 161, 2),
        ("x" * 306, 2),
        ("x" * 307, 3),
        ("€" * 80, 1),
        ("€" * 81, 2),
        ("€" * 153, 3),  # 76 to a part: no escape is parted from its sign
        ("§", 1),
        ("`" * 71, 2),  # not in GSM-7
        ("я" * 70, 1),
        ("я" * 71, 2),
        ("я" * 134, 2),
        ("я" * 135, 3),
        ("😀" * 35, 1),
        ("😀" * 36, 2),
        ("😀" * 67, 3),  # 33 to a part: no pair is parted
    ],
)
def test_segments_are_counted_as_operators_do(text: str, segments: int) -> None:
    assert count_segments(text) == segments
