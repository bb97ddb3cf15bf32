"""Codes are derived; their stored MAC binds them to phone, purpose, company and mode."""

import hashlib
import hmac
from collections import Counter
from itertools import combinations
from typing import Any
from uuid import UUID

import pytest
from pytest_django import Settings

from channels.models import Message
from otp import codes
from otp.texts import rendering
from tests.api.clients import Api
from tests.otp.sent_codes import age_rows, code_of, verification_of

KEYS = {"2": b"current key of the tests", "1": b"previous key of the tests"}
BOUND: dict[str, Any] = {
    "company_id": 7,
    "mode": "live",
    "phone": "+79161234567",
    "purpose": "login",
    "code": "004217",
}


@pytest.fixture(autouse=True)
def _keys(settings: Settings) -> None:
    settings.OTP_KEYS = KEYS


def rfc4226(key: bytes, moving_factor: bytes, length: int) -> str:
    """§5.3, over SHA-256 and 63 bits."""
    digest = hmac.new(key, moving_factor, hashlib.sha256).digest()
    start = digest[31] & 0x0F
    bits = int.from_bytes(digest[start : start + 8], "big") & (2**63 - 1)
    return str(bits % 10**length).rjust(length, "0")


@pytest.mark.parametrize("length", [4, 5, 6, 7, 8])
def test_code_is_a_truncated_hmac_of_the_id(length: int) -> None:
    key = hmac.new(KEYS["2"], b"code", hashlib.sha256).digest()

    for number in range(200):
        verification_id = UUID(int=number)
        expected = rfc4226(key, verification_id.bytes, length)
        assert codes.derive(verification_id, key_id="2", length=length) == expected


def test_code_keeps_its_leading_zeros() -> None:
    result = [codes.derive(UUID(int=number), key_id="2", length=6) for number in range(3000)]

    assert all(len(code) == 6 and code.isdigit() for code in result)
    assert any(code.startswith("00") for code in result)


def test_every_digit_is_equally_likely() -> None:
    count = 20_000
    result = [codes.derive(UUID(int=number), key_id="2", length=6) for number in range(count)]

    for digits in map(Counter, zip(*result, strict=True)):
        expected = count / 10
        chi_squared = sum((digits[str(n)] - expected) ** 2 / expected for n in range(10))
        assert chi_squared < 27.9  # 9 degrees of freedom, p = 0.001


def test_mac_differs_with_whatever_it_is_bound_to() -> None:
    others = {
        "company_id": 8,
        "mode": "test",
        "phone": "+79161234568",
        "purpose": "Login",
        "code": "4217",
    }
    several = [BOUND, *(BOUND | {name: value} for name, value in others.items())]

    macs = [codes.mac(key_id=key_id, **bound) for bound in several for key_id in KEYS]

    assert all(mac != other for mac, other in combinations(macs, 2))
    assert {len(mac) for mac in macs} == {32}


def test_neighbouring_fields_do_not_run_into_one_another() -> None:
    mac = codes.mac(key_id="1", **BOUND | {"purpose": "login1", "code": "23456"})
    other = codes.mac(key_id="1", **BOUND | {"purpose": "login", "code": "123456"})

    assert mac != other


def test_candidates_are_made_under_every_known_key() -> None:
    assert codes.candidate_macs(**BOUND) == [
        codes.mac(key_id=key_id, **BOUND) for key_id in ("2", "1")
    ]


def test_mac_does_not_reveal_the_code() -> None:
    key = hmac.new(KEYS["2"], b"mac", hashlib.sha256).digest()
    text = "\0".join(["v1", "7", "live", "+79161234567", "login", "004217"])

    assert codes.mac(key_id="2", **BOUND) == hmac.new(key, text.encode(), "sha256").digest()


PHONE = "+79161234567"
OLD_KEYS = {"old": b"o" * 32}
NEW_KEYS = {"new": b"n" * 32}
# The lists of keys that run side by side during the restarts of each step.
STEPS = {
    "append": (OLD_KEYS, OLD_KEYS | NEW_KEYS),
    "promote": (OLD_KEYS | NEW_KEYS, NEW_KEYS | OLD_KEYS),
    "drop": (NEW_KEYS | OLD_KEYS, NEW_KEYS),
}
PAIRS = [
    pytest.param(a, b, id=f"{step}-{moment}")
    for step, pair in STEPS.items()
    for moment, (a, b) in {"before": pair, "after": pair[::-1]}.items()
]
Ring = dict[str, bytes]


@pytest.mark.parametrize(("sender", "checker"), PAIRS)
def test_code_is_valid_in_another_process(
    api: Api, settings: Settings, sender: Ring, checker: Ring
) -> None:
    settings.OTP_KEYS = sender
    api.post("/otp/send", {"phone": PHONE})
    code = code_of(PHONE)
    settings.OTP_KEYS = checker

    assert api.post("/otp/verify", {"phone": PHONE, "code": code}).status == 200


@pytest.mark.parametrize(("sender", "other"), PAIRS)
def test_code_is_resent_by_another_process(
    api: Api, settings: Settings, sender: Ring, other: Ring
) -> None:
    settings.OTP_KEYS = sender
    api.post("/otp/send", {"phone": PHONE})
    code = code_of(PHONE)
    verification = verification_of(PHONE).pk
    age_rows(seconds=61)
    settings.OTP_KEYS = other

    api.post("/otp/send", {"phone": PHONE})

    resent = Message.objects.latest("created_at")
    rendered = rendering.render(
        subject_id=verification, params=resent.params, locale="ru", channel="whatsapp"
    )
    assert (resent.subject_id, rendered.code) == (verification, code)


def test_new_key_that_signs_before_all_know_it_breaks_codes(api: Api, settings: Settings) -> None:
    """Why the steps are three: this order is refused by `doctor`."""
    settings.OTP_KEYS = NEW_KEYS | OLD_KEYS
    api.post("/otp/send", {"phone": PHONE})
    code = code_of(PHONE)
    settings.OTP_KEYS = OLD_KEYS

    assert api.post("/otp/verify", {"phone": PHONE, "code": code}).code == "code_invalid"
