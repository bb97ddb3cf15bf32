"""Request bodies that never end are cut off and delay nobody."""

import socket
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
import requests

from accounts.models import Mode
from tests.factories import ApiKeyFactory, LinkFactory
from tests.stack import resource_usage
from tests.stack.programs import wait_until
from tests.stack.sender import Sender
from tests.stack.slow_clients import SlowClients, request
from tests.stack.stack import BODY_TIMEOUT, Stack

HELD = 500  # slow clients at once
CLIENTS = 650  # those without a good key are refused before their bodies, and come again
TIMEOUT = 60.0  # seconds: a busy machine
P99 = 0.5  # seconds, in the best of three rounds: the machine may be busy with other tests
WRONG_KEY = "Authorization: Bearer kv_live_abcdefghijklmnopqrstuvwxyzABCDEF000000"
JSON = "Content-Type: application/json"
FORM = "Content-Type: application/x-www-form-urlencoded"


def test_many_slow_clients_delay_nobody(stack: Stack, sender: Sender) -> None:
    codes = _codes(stack, sender, 95)
    link = LinkFactory.create(slug="SlowDoor", company=sender.company)
    calm = _p99(_busy_minute(stack, sender, codes[:20], link.slug))
    before = resource_usage.usage_of([stack.web])

    with SlowClients(stack.url, _targets(stack, sender, link.slug), CLIENTS):
        wait_until(
            lambda: resource_usage.usage_of([stack.web]).files >= before.files + HELD, TIMEOUT
        )
        rounds = [
            _busy_minute(stack, sender, codes[start : start + 25], link.slug)
            for start in (20, 45, 70)
        ]
        _, most = resource_usage.usage_range([stack.web], 1.0)

    assert min(map(_p99, rounds)) < max(P99, 4 * calm)
    assert most.files >= before.files + HELD
    wait_until(
        lambda: not resource_usage.usage_of([stack.web]).exceeds(before, threads=8, files=8),
        TIMEOUT,
    )


def test_slow_body_is_answered_in_the_envelope(stack: Stack, sender: Sender) -> None:
    authorization = f"Authorization: Bearer {sender.key}"

    status, body = _ask(stack, request("POST", "/api/v1/otp/send", "x", authorization), "{")

    assert status == 408
    assert b'"code":"request_timeout"' in body
    assert b'"request_id":"req_' in body


@pytest.mark.parametrize("length", ["Content-Length: 10000000000", "Transfer-Encoding: chunked"])
def test_key_is_checked_before_the_body_arrives(stack: Stack, length: str) -> None:
    started = time.monotonic()

    status, body = _ask(stack, request("POST", "/api/v1/otp/send", "x", WRONG_KEY, length), "")

    assert (status, b'"code":"invalid_api_key"' in body) == (401, True)
    assert time.monotonic() - started < BODY_TIMEOUT / 2


def test_chunked_body_is_read(stack: Stack, sender: Sender) -> None:
    phone = stack.phone()

    def parts() -> Iterable[bytes]:
        yield b'{"phone": "'
        yield phone.encode() + b'"}'

    response = requests.post(
        f"{stack.url}/api/v1/otp/send",
        data=parts(),
        headers={"Authorization": f"Bearer {sender.key}", "Content-Type": "application/json"},
        timeout=20,
    )

    assert response.status_code == 200
    stack.ending(phone)


def _targets(stack: Stack, sender: Sender, slug: str) -> list[str]:
    host = urlsplit(stack.url).netloc
    test_key = ApiKeyFactory.create(company=sender.company, mode=Mode.TEST)
    return [
        request("POST", "/hooks/whatsapp", host, JSON),
        request("POST", "/hooks/twilio", host, FORM),
        request("POST", "/api/v1/otp/send", host, JSON),
        request("POST", "/api/v1/otp/verify", host, JSON, WRONG_KEY),
        request("POST", "/api/v1/links/bulk", host, f"Authorization: Bearer {test_key.plaintext}"),
        request("POST", f"/{slug}", host, FORM),
        request("POST", f"/{slug}+", host, FORM),
        request("POST", "/account/login/", host, FORM),
    ]


def _codes(stack: Stack, sender: Sender, count: int) -> list[tuple[str, str]]:
    phones = stack.phones(count)
    with ThreadPoolExecutor(8) as pool:
        assert {response.status_code for response in pool.map(sender.send_code, phones)} == {200}
    wait_until(lambda: all(map(stack.carrier.messages, phones)), TIMEOUT)
    return [(phone, stack.carrier.code(phone)) for phone in phones]


def _busy_minute(
    stack: Stack, sender: Sender, codes: list[tuple[str, str]], slug: str
) -> list[float]:
    """Seconds that each verify and each redirect took; all of them are answered as they should."""

    def verify(known: tuple[str, str]) -> float:
        return _timed(lambda: sender.verify(*known), 200)

    def follow(_number: int) -> float:
        url = f"{stack.url}/{slug}"
        return _timed(lambda: requests.get(url, allow_redirects=False, timeout=20), 302)

    with ThreadPoolExecutor(2) as pool:
        verified = pool.map(verify, codes)
        followed = pool.map(follow, range(len(codes) * 3))
        return [*verified, *followed]


def _timed(ask: Callable[[], requests.Response], status: int) -> float:
    started = time.monotonic()
    response = ask()
    seconds = time.monotonic() - started
    assert response.status_code == status, response.text
    return seconds


def _p99(seconds: list[float]) -> float:
    return sorted(seconds)[int(len(seconds) * 0.99)]


def _ask(stack: Stack, headers: str, body: str) -> tuple[int, bytes]:
    """The answer to a request that goes no further."""
    place = urlsplit(stack.url)
    length = (
        "" if "Transfer-Encoding" in headers or "Length" in headers else "Content-Length: 9\r\n"
    )
    with socket.create_connection((place.hostname, place.port or 80), timeout=20) as connection:
        connection.sendall(f"{headers}{length}\r\n{body}".encode())
        result = b""
        while part := connection.recv(65_536):
            result += part
    return int(result.split(b" ", 2)[1]), result
