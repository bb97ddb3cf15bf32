"""Codes and keys appear only on the phone and at their owner; no log has phone numbers."""

import re
from base64 import b64encode
from collections.abc import Iterator
from itertools import cycle

import pytest

from tests.stack import secret_search
from tests.stack.programs import wait_until
from tests.stack.sender import Sender
from tests.stack.stack import Stack

KEY = re.compile(rb"kv_(live|test)_\w{20,}")
SENDS = 20


@pytest.fixture
def tap(stack: Stack) -> Iterator[secret_search.RedisMonitor]:
    tap = secret_search.RedisMonitor(stack.redis.socket)
    yield tap
    tap.close()


@pytest.fixture
def codes(stack: Stack, tap: secret_search.RedisMonitor) -> list[str]:
    """Codes of eight digits that went to their phones in every way there is."""
    sender = stack.sender(code_length=8)
    phones = stack.phones(SENDS)
    send_codes = _send_codes(stack, sender, phones)
    _let_vendors_refuse(stack, sender)
    for phone, code in list(zip(phones, send_codes, strict=True))[::2]:
        assert sender.verify(phone, "00000000").json()["code"] == "code_invalid"
        assert sender.verify(phone, code).status_code == 200
    for phone in phones:
        assert stack.ending(phone).states == ["delivered"]
    wait_until(lambda: b"channels.write_heartbeat" in tap.captured)
    return send_codes


def _send_codes(stack: Stack, sender: Sender, phones: list[str]) -> list[str]:
    for phone, channel in zip(phones, cycle(["whatsapp", "telegram", "sms"]), strict=False):
        link = {"link": "https://example.com/"} if phone in phones[::4] else {}
        sender.send_code(phone, channel=channel, idempotency_key=phone, **link)
    return [stack.carrier.code(phone) for phone in phones]


def _let_vendors_refuse(stack: Stack, sender: Sender) -> None:
    for kind in ("refuse", "unreachable", "reset"):
        phone = stack.phone()
        stack.carrier.set_fault(kind, phone=phone)
        sender.send_code(phone, channel="sms")


def test_codes_and_keys_are_neither_stored_nor_logged(
    stack: Stack, tap: secret_search.RedisMonitor, codes: list[str]
) -> None:
    places = {
        "postgres": secret_search.postgres_contents(),
        "redis": secret_search.redis_values(stack.redis.url),
        "redis traffic": bytes(tap.captured),
        "logs": stack.all_logs(),
    }

    assert all(len(code) == 8 for code in codes)
    assert len(set(codes)) == SENDS
    assert all(len(text) > 1000 for text in places.values())
    for place, text in places.items():
        leaked = [code for code in codes if secret_search.secret_pattern(code).search(text)]
        assert (place, leaked) == (place, [])
        assert (place, KEY.search(text)) == (place, None)


def test_short_codes_are_masked_in_logs(stack: Stack) -> None:
    codes = _send_codes(stack, stack.sender(), stack.phones(6))

    logs = stack.all_logs()

    assert [code for code in codes if secret_search.secret_pattern(code).search(logs)] == []


def test_no_log_has_a_whole_phone(stack: Stack, codes: list[str]) -> None:
    logs = stack.all_logs()

    assert re.findall(rb"7926\d{7}", logs) == []
    assert re.findall(rb"926[ ()-]*000[ ()-]*0\d-?\d\d", logs) == []


@pytest.mark.parametrize("neighbours", [b"", b"a", b"ab"])
def test_search_finds_encoded_secrets(neighbours: bytes) -> None:
    code = b"12345678"
    hidden = [
        b"code " + code + b".",
        b"\\x61" + code.hex().encode(),
        b64encode(neighbours + code + neighbours),
    ]

    assert [bool(secret_search.secret_pattern(code.decode()).search(text)) for text in hidden] == [
        True
    ] * 3
    assert secret_search.secret_pattern(code.decode()).search(b"912345678") is None
