import pytest

from channels.providers.smpp.message import validity
from tests.channels.providers.centre import account


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (300, "000000000500000R"),
        (59, "000000000059000R"),
        (86_399, "000000235959000R"),
        (86_400 + 3_661, "000001010101000R"),
        (0, "000000000001000R"),
        (10**9, "000030000000000R"),
    ],
)
def test_validity_is_a_relative_time(seconds: int, written: str) -> None:
    assert validity(seconds) == written


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("password", "123456789"),
        ("system_id", "x" * 16),
        ("system_type", "пароль"),
        ("source", "Квиток"),
        ("source", "x" * 21),
        ("alphabet", "utf-8"),
        ("long", "sar"),
        ("statuses", {"0x45": "nonsense"}),
    ],
)
def test_setting_that_no_bind_could_carry_is_refused(setting: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"SMPP_{setting.upper()}") as caught:
        account(2775, **{setting: value})

    assert "123456789" not in str(caught.value)
