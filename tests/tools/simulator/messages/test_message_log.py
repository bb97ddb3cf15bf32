"""The log of the simulator's messages loses none of them."""

import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from links.clicks.bot_detection import VisitorKind, kind_of
from tests.tools.simulator.peers import Hook, Receiver, Simulator, eventually, get
from tests.tools.simulator.sends import (
    WHATSAPP,
    WITH_RECEIPTS,
    Vendor,
    send_bot,
    send_smsc,
    send_twilio,
    send_whatsapp,
)


def restart(simulator: Simulator) -> None:
    simulator.end(signal.SIGKILL)
    simulator.start()


def test_kill_loses_no_accepted_message(own_simulator: Simulator, own_receiver: Receiver) -> None:
    phones = [str(77020000000 + number) for number in range(40)]
    own_simulator.do(phones[0], "block")

    with ThreadPoolExecutor(8) as pool:
        responses = list(pool.map(lambda phone: send_whatsapp(own_simulator, phone), phones))
    restart(own_simulator)

    assert all(response.status_code == 200 for response in responses)
    kept = [own_simulator.messages(phone) for phone in phones]
    assert [len(messages) for messages in kept] == [1] * 40
    listed = {phone["phone"]: phone for phone in get(f"{own_simulator.url}/phones").json()}
    assert listed.keys() == set(phones)
    assert listed[phones[0]]["contact"] == "blocked"
    assert listed[phones[1]]["messages"] == 1
    for phone in phones:
        assert set(WHATSAPP.words(own_receiver, phone, 2)) == {"sent", "delivered"}


def test_receipts_pending_at_a_kill_are_sent_at_start(
    own_simulator: Simulator, own_receiver: Receiver, phone: str
) -> None:
    own_simulator.set_fault(kind="late_receipt", latency_ms=700)
    sent_at = time.time()
    for vendor in WITH_RECEIPTS:
        vendor.send(own_simulator, phone)

    restart(own_simulator)

    for vendor in WITH_RECEIPTS:
        received = vendor.receipts(own_receiver, phone, 2)
        assert [receipt.vendor_status for receipt in received] == ["sent", "delivered"]
        assert received[0].hook.at - sent_at >= 0.7


@pytest.mark.parametrize("vendor", WITH_RECEIPTS, ids=lambda vendor: vendor.name)
def test_receipts_are_repeated_until_accepted(
    simulator: Simulator, receiver: Receiver, phone: str, vendor: Vendor
) -> None:
    receiver.status = 503
    vendor.send(simulator, phone)
    assert set(vendor.words(receiver, phone, 2)) == {"sent"}

    receiver.status = 200

    eventually(lambda: vendor.words(receiver, phone, 2)[-2:] == ["sent", "delivered"])


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
    body: list[dict[str, object]] = get(f"{simulator.url}/exchanges?phone={phone}").json()
    return body


def test_only_links_of_the_service_are_opened(
    simulator: Simulator, own_receiver: Receiver, receiver: Receiver, phone: str
) -> None:
    simulator.set_fault(phone=phone, kind="link_preview")

    send(simulator, phone, "smsc", f"{own_receiver.url}/x https://example.com/x")
    send(simulator, phone, "smsc", f"{receiver.url}/{phone}")

    receiver.wait(lambda hook: hook.path == f"/{phone}")
    assert own_receiver.hooks == []
