import re

import pytest
from time_machine import TimeMachineFixture

from channels.providers.smpp.submit_sm import MessageFormat, absolute_time, relative_time
from tests.channels.providers.centre import account
from tests.channels.providers.vendors import message


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
        ("Kvitok", 5, 0), ("ElevenChars", 5, 0), ("+79161234567", 1, 1), ("1234567", 1, 1),
        ("900", 3, 0), ("12345", 3, 0),
    ],
)  # fmt: skip
def test_sender_is_a_name_a_number_or_a_short_code(source: str, ton: int, npi: int) -> None:
    style = MessageFormat(source, -1, -1, 1, 1, "gsm", "udh")

    (fields,) = style.submissions(message(), 1)

    assert (fields["source_addr_ton"], fields["source_addr_npi"]) == (ton, npi)
    assert fields["source_addr"] == source.removeprefix("+")


@pytest.mark.parametrize(
    ("validity", "pattern"), [("relative", r"\d{15}R"), ("absolute", r"\d{15}\+"), ("none", "")]
)
def test_validity_is_written_as_the_centre_wants_it(validity: str, pattern: str) -> None:
    style = MessageFormat("Kvitok", -1, -1, 1, 1, "gsm", "udh", validity)

    (fields,) = style.submissions(message(), 1)

    assert re.fullmatch(pattern, fields["validity_period"])


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("password", "123456789"), ("system_id", "x" * 16), ("system_type", "пароль"),
        ("source", "Квиток"), ("source", "TwelveLetter"), ("source", "1234567890123456"),
        ("source", ""), ("validity", "always"), ("host", "a.example:0"), ("alphabet", "utf-8"),
        ("long", "sar"), ("statuses", {"0x45": "nonsense"}),
        ("receipt_states", {"FAILED": "nonsense"}),
    ],
)  # fmt: skip
def test_oversized_setting_is_refused(setting: str, value: object) -> None:
    with pytest.raises(ValueError, match=setting) as caught:
        account(2775, **{setting: value})

    assert "123456789" not in str(caught.value)
