"""The simulator's page of phones and their messages."""

import re

import pytest

from tests.tools.simulator.peers import Simulator, get, post
from tests.tools.simulator.sends import send_bot, send_whatsapp, template

SHARED = ["share", "unshare", "start", "stop", "block"]


def page(simulator: Simulator, query: str = "", language: str = "ru") -> str:
    response = get(f"{simulator.url}/{query}", headers={"Accept-Language": language})
    assert response.status_code == 200
    return response.text


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


@pytest.mark.parametrize(
    "headers", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"Origin": "null"}]
)
def test_foreign_pages_may_not_ask(simulator: Simulator, headers: dict[str, str]) -> None:
    assert get(f"{simulator.url}/phones", headers=headers).status_code == 403
    response = post(f"{simulator.url}/faults", json={"kind": "hang"}, headers=headers)
    assert response.status_code == 403
