import pytest

from tools.simulator.messages.sms_segments import count_segments


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
