import json
import re
from collections.abc import Iterator

import pytest
import requests

from tests.tools.simulator.peers import Simulator, get, post
from tests.tools.simulator.sends import send_bot, send_whatsapp, template

SHARED = ["share", "unshare", "start", "stop", "block"]


def page(simulator: Simulator, query: str = "", language: str = "ru") -> str:
    answer = get(f"{simulator.url}/{query}", headers={"Accept-Language": language})
    assert answer.status_code == 200
    return answer.text


def test_page_shows_phone_message_and_code(simulator: Simulator, phone: str) -> None:
    send_whatsapp(simulator, phone, template=template("short_link", ["Ваш полис"], "aB3"))
    send_whatsapp(simulator, phone)

    shown = page(simulator, f"?phone={phone}")

    assert f"+{phone}" in shown
    assert '<code class="code">123456</code>' in shown
    assert '<a href="https://kv.example/aB3" target="_blank"' in shown
    assert "контакт есть (по умолчанию)" in shown


def test_everything_from_outside_is_escaped(simulator: Simulator, phone: str) -> None:
    nasty = """<script>alert(1)</script> https://a.example/"onclick='x'&lt; &amp;"""
    send_bot(simulator, phone, text=nasty)

    shown = page(simulator, f"?phone={phone}")

    assert "<script>alert" not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert not re.search(r"<[^>]*\sonclick=", shown)


def test_page_has_no_inline_script_or_style_and_forbids_them(simulator: Simulator) -> None:
    answer = get(f"{simulator.url}/")

    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy
    assert " style=" not in answer.text
    assert re.findall(r"<script[^>]*>", answer.text) == [
        '<script src="/static/simulator.js" defer>'
    ]


@pytest.mark.parametrize(
    "asset",
    [("simulator.js", "javascript"), ("simulator.css", "text/css"), ("icon.svg", "image/svg")],
)
def test_assets_are_served(simulator: Simulator, asset: tuple[str, str]) -> None:
    answer = get(f"{simulator.url}/static/{asset[0]}")

    assert answer.status_code == 200
    assert asset[1] in answer.headers["Content-Type"]


@pytest.mark.parametrize(
    ("query", "accepted", "title"),
    [
        ("", "", "Симулятор операторов"),
        ("", "en-US,en;q=0.9", "Carrier simulator"),
        ("", "de", "Симулятор операторов"),
        ("?lang=en", "ru", "Carrier simulator"),
        ("?lang=ru", "en", "Симулятор операторов"),
        ("?lang=xx", "en", "Carrier simulator"),
    ],
)
def test_language_is_chosen(simulator: Simulator, query: str, accepted: str, title: str) -> None:
    assert f"<title>{title}</title>" in page(simulator, query, accepted)


def test_empty_page_says_what_to_do(own_simulator: Simulator) -> None:
    shown = page(own_simulator)

    assert "Сообщений пока нет" in shown
    assert f"curl -X POST {own_simulator.public_url}/api/v1/otp/send" in shown


def test_unknown_phone_is_said_to_be_unknown(simulator: Simulator) -> None:
    assert "Такого телефона нет" in page(simulator, "?phone=99999999")


@pytest.mark.parametrize(
    ("actions", "contact", "buttons"),
    [
        ([], "default", ["share", "unshare", "stop", "block"]),
        (["share"], "shared", SHARED),
        (["unshare"], "unshared", ["start", "share", "block"]),
        (["share", "block"], "blocked", ["unblock"]),
        (["share", "block", "unblock"], "shared", SHARED),
        (["unshare", "block", "share"], "shared", SHARED),
        (["share", "stop", "start"], "shared", SHARED),
    ],
)
def test_contact_is_shown_with_what_can_be_done(
    simulator: Simulator, phone: str, *, actions: list[str], contact: str, buttons: list[str]
) -> None:
    send_whatsapp(simulator, phone)
    for action in actions:
        simulator.do(phone, action)

    shown = page(simulator, f"?phone={phone}")

    assert f'data-contact="{contact}"' in shown
    assert re.findall(r'data-action="(\w+)"', shown) == buttons


def test_faults_are_listed(simulator: Simulator, phone: str) -> None:
    simulator.set_fault(kind="hang", phone=phone, channel="sms", latency_ms=500, times=2)

    shown = page(simulator, language="en")

    assert f"taken, but no answer · SMS · +{phone} · 500 ms · times left: 2" in shown


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("phones/77010000001/contact", {"action": "adopt"}, 400),
        ("phones/77010000001/contact", None, 400),
        ("phones/12/contact", {"action": "share"}, 400),
        ("messages/999999999/read", None, 404),
        ("messages/" + "9" * 30 + "/read", None, 404),
        ("messages/first/read", None, 404),
        ("messages/first/reply", {"text": "STOP"}, 404),
    ],
)
def test_bad_action_is_refused(simulator: Simulator, path: str, body: object, status: int) -> None:
    answer = post(f"{simulator.url}/{path}", json=body)

    assert answer.status_code == status
    assert answer.json()["errors"]


@pytest.mark.parametrize(
    "headers", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"Origin": "null"}]
)
def test_foreign_pages_may_not_ask(simulator: Simulator, headers: dict[str, str]) -> None:
    assert get(f"{simulator.url}/phones", headers=headers).status_code == 403
    answer = post(f"{simulator.url}/faults", json={"kind": "hang"}, headers=headers)
    assert answer.status_code == 403


@pytest.fixture
def stream(simulator: Simulator) -> Iterator[requests.Response]:
    with get(f"{simulator.url}/events", stream=True) as answer:
        yield answer


def next_event(lines: Iterator[str], phone: str) -> dict[str, list[str]]:
    for line in lines:
        if line.startswith("data: ") and phone in line:
            event: dict[str, list[str]] = json.loads(line.removeprefix("data: "))
            return event
    raise AssertionError("the stream ended")


def test_stream_names_the_phones_that_changed(
    simulator: Simulator, stream: requests.Response, phone: str
) -> None:
    lines = stream.iter_lines(chunk_size=1, decode_unicode=True)
    assert next(lines) == "retry: 1000"

    send_whatsapp(simulator, phone)

    assert stream.headers["Content-Type"] == "text/event-stream"
    assert next_event(lines, phone)["phones"] == [phone]
