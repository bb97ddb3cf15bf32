"""Simulated messengers and scanners open the links of messages."""

import pytest
import requests

from links.clicks.bot_detection import VisitorKind, kind_of
from tests.tools.simulator.peers import Hook, Receiver, Simulator, eventually, get
from tests.tools.simulator.sends import send_bot, send_smsc, send_twilio


def visits(receiver: Receiver, path: str) -> list[Hook]:
    return receiver.having(lambda hook: hook.path == path)


def send(simulator: Simulator, phone: str, provider: str, link: str) -> requests.Response:
    if provider == "telegram_bot":
        return send_bot(simulator, phone, text=f"Ваша ссылка: {link}")
    if provider == "twilio":
        return send_twilio(simulator, phone, Body=f"Ваша ссылка: {link}")
    return send_smsc(simulator, phone, mes=f"Ваша ссылка: {link}")


def kind(visit: Hook) -> VisitorKind:
    environ = {f"HTTP_{k.upper().replace('-', '_')}": v for k, v in visit.headers.items()}
    return kind_of({"REQUEST_METHOD": "GET"} | environ)


@pytest.mark.parametrize("provider", ["telegram_bot", "twilio", "smsc"])
@pytest.mark.parametrize("fault", ["link_preview", "link_scan"])
def test_link_is_opened_once_and_not_followed(
    simulator: Simulator, receiver: Receiver, phone: str, provider: str, fault: str
) -> None:
    simulator.set_fault(phone=phone, provider=provider, kind=fault)

    send(simulator, phone, provider, f"{receiver.url}/{phone}")

    receiver.wait(lambda hook: hook.path == f"/{phone}")
    eventually(lambda: f"GET {receiver.url}/{phone}" in str(exchanges(simulator, phone)))
    (visit,) = visits(receiver, f"/{phone}")
    assert kind(visit) == (VisitorKind.PREVIEW if fault == "link_preview" else VisitorKind.PERSON)
    assert visits(receiver, "/target") == []


def exchanges(simulator: Simulator, phone: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = get(f"{simulator.url}/exchanges?phone={phone}").json()
    return found


def test_only_links_of_the_service_are_opened(
    simulator: Simulator, own_receiver: Receiver, receiver: Receiver, phone: str
) -> None:
    simulator.set_fault(phone=phone, kind="link_preview")

    send(simulator, phone, "smsc", f"{own_receiver.url}/x https://example.com/x")
    send(simulator, phone, "smsc", f"{receiver.url}/{phone}")

    receiver.wait(lambda hook: hook.path == f"/{phone}")
    assert own_receiver.hooks == []
