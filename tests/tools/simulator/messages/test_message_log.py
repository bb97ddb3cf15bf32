import json
import signal
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from tests.tools.simulator.peers import Receiver, Simulator, eventually, get
from tests.tools.simulator.sends import ALL, TWILIO, WHATSAPP, WITH_RECEIPTS, Vendor, send_whatsapp


def restart(simulator: Simulator) -> None:
    simulator.end(signal.SIGKILL)
    simulator.start()


def column(simulator: Simulator, phone: str, name: str) -> list[str | None]:
    with closing(sqlite3.connect(f"file:{simulator.log}?mode=ro", uri=True)) as log:
        log.row_factory = sqlite3.Row
        rows = log.execute("SELECT * FROM messages WHERE phone = ? ORDER BY id", (phone,))
        return [row[name] for row in rows]


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


def test_sent_receipts_are_not_sent_again(
    own_simulator: Simulator, own_receiver: Receiver, phone: str
) -> None:
    send_whatsapp(own_simulator, phone)
    eventually(lambda: column(own_simulator, phone, "pending") == [""])
    assert own_simulator.end(signal.SIGTERM) == 0

    own_simulator.start()
    TWILIO.send(own_simulator, phone)
    TWILIO.receipts(own_receiver, phone, 2)

    assert len(WHATSAPP.receipts(own_receiver, phone, 2)) == 2


@pytest.mark.parametrize("vendor", WITH_RECEIPTS, ids=lambda vendor: vendor.name)
def test_receipts_are_repeated_until_taken(
    simulator: Simulator, receiver: Receiver, phone: str, vendor: Vendor
) -> None:
    receiver.status = 503
    vendor.send(simulator, phone)
    assert set(vendor.words(receiver, phone, 2)) == {"sent"}

    receiver.status = 200

    eventually(lambda: vendor.words(receiver, phone, 2)[-2:] == ["sent", "delivered"])


def test_receipts_outlive_a_service_that_is_down(
    own_simulator: Simulator, own_receiver: Receiver, phone: str
) -> None:
    own_receiver.close()
    send_whatsapp(own_simulator, phone)
    time.sleep(0.1)

    again = Receiver(own_receiver.port)
    try:
        assert WHATSAPP.words(again, phone, 2) == ["sent", "delivered"]
    finally:
        again.close()


def test_log_can_be_read_beside_the_simulator(simulator: Simulator, phone: str) -> None:
    for vendor in ALL:
        vendor.send(simulator, phone)

    assert column(simulator, phone, "provider") == [vendor.name for vendor in ALL]
    assert column(simulator, phone, "ref")[:3] == [f"ref-{phone}", f"ref-{phone}", None]
    assert column(simulator, phone, "code") == ["123456"] * len(ALL)


def test_the_log_tells_which_faults_shaped_a_message(simulator: Simulator, phone: str) -> None:
    simulator.set_fault(phone=phone, kind="duplicate_receipt", times=1)
    simulator.set_fault(phone=phone, kind="late_receipt", latency_ms=10, times=1)
    simulator.set_fault(phone=phone, latency_ms=1, times=1)

    for _ in range(2):
        send_whatsapp(simulator, phone)

    bent, straight = (json.loads(extra or "") for extra in column(simulator, phone, "extra"))
    assert bent["faults"] == ["duplicate_receipt", "late_receipt", "latency"]
    assert "faults" not in straight


def test_messages_come_newest_first_in_any_spelling(simulator: Simulator, phone: str) -> None:
    for vendor in ALL:
        vendor.send(simulator, phone)
    spelled = f"+{phone[:1]} ({phone[1:4]}) {phone[4:7]}-{phone[7:]}"

    messages = simulator.messages(spelled)

    assert [message["provider"] for message in messages] == [vendor.name for vendor in ALL][::-1]
    assert set(messages[0]) == {
        "id",
        "channel",
        "provider",
        "text",
        "code",
        "links",
        "state",
        "at",
    }
    assert simulator.messages("79990000000") == []


def test_phones_come_by_activity(simulator: Simulator, phone: str) -> None:
    other = str(int(phone) + 20_000_000)
    for number in (phone, other, phone):
        send_whatsapp(simulator, number)

    first, second = get(f"{simulator.url}/phones").json()[:2]

    assert (first["phone"], first["messages"], first["contact"]) == (phone, 2, "default")
    assert (second["phone"], second["messages"]) == (other, 1)
    assert first["last_at"] >= second["last_at"]
