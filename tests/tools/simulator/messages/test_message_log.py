import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.tools.simulator.peers import Receiver, Simulator, eventually, get
from tests.tools.simulator.sends import WHATSAPP, WITH_RECEIPTS, Vendor, send_whatsapp


def restart(simulator: Simulator) -> None:
    simulator.end(signal.SIGKILL)
    simulator.start()


def test_kill_loses_no_accepted_message(own_simulator: Simulator, own_receiver: Receiver) -> None:
    phones = [str(77020000000 + number) for number in range(40)]
    own_simulator.do(phones[0], "block")

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda phone: send_whatsapp(own_simulator, phone), phones))
    restart(own_simulator)

    assert all(answer.status_code == 200 for answer in answers)
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
        assert [one.word for one in received] == ["sent", "delivered"]
        assert received[0].hook.at - sent_at >= 0.7


@pytest.mark.parametrize("vendor", WITH_RECEIPTS, ids=lambda vendor: vendor.name)
def test_receipts_are_repeated_until_taken(
    simulator: Simulator, receiver: Receiver, phone: str, vendor: Vendor
) -> None:
    receiver.status = 503
    vendor.send(simulator, phone)
    assert set(vendor.words(receiver, phone, 2)) == {"sent"}

    receiver.status = 200

    eventually(lambda: vendor.words(receiver, phone, 2)[-2:] == ["sent", "delivered"])
