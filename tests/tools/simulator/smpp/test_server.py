"""The simulated message centre, with an independent SMPP client."""

import asyncio
import re
import socket
import struct
from collections.abc import Awaitable, Callable, Iterator

import pytest
import smpp34

from tests.tools.simulator.peers import Receiver, Simulator, eventually

SYSTEM_ID = "kvitok"
PASSWORD = "secret"
THROTTLED = 0x58
INVALID_DEST = 0x0B
SUBMIT_FAILED = 0x45
WINDOW = 5
Work = Callable[[smpp34.Smsc], Awaitable[None]]


@pytest.fixture(scope="module")
def running_centre(
    shared_receiver: Receiver, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Simulator]:
    log = tmp_path_factory.mktemp("centre") / "log.sqlite3"
    account = {"SMPP_URL": f"smpp://{SYSTEM_ID}:{PASSWORD}@127.0.0.1?window={WINDOW}"}
    simulator = Simulator(log, shared_receiver.url, SIMULATOR_SMPP_PORT="0", **account)
    yield simulator
    simulator.close()


@pytest.fixture
def centre(running_centre: Simulator) -> Iterator[Simulator]:
    yield running_centre
    running_centre.behave()


def port(centre: Simulator) -> int:
    return int(centre.first_line.rpartition("smpp://127.0.0.1:")[2].split()[0])


def client(centre: Simulator, password: str = PASSWORD) -> smpp34.Client:
    return smpp34.Client("127.0.0.1", port(centre), SYSTEM_ID, password, bind_type="TRX")


def bound(centre: Simulator, work: Work) -> None:
    async def do() -> None:
        smsc = await client(centre).connect()
        await work(smsc)
        await smsc.unbind()

    asyncio.run(asyncio.wait_for(do(), 20))


async def submit(
    smsc: smpp34.Smsc, phone: str, text: bytes = b"Your code is 482915", **changed: object
) -> smpp34.SubmitSmResp:
    usual: dict[str, object] = {
        "source_addr": "Kvitok",
        "source_addr_ton": 5,
        "dest_addr_ton": 1,
        "dest_addr_npi": 1,
        "validity_period": "000000000500000R",
        "registered_delivery": 1,
    }
    return await smsc.submit_sm(phone, text, **(usual | changed))  # type: ignore[arg-type]


async def receipts(smsc: smpp34.Smsc, phone: str) -> smpp34.DeliverSmEvent:
    """The next receipt for this phone: those for others may still be under way."""
    while True:
        event = await asyncio.wait_for(smsc.next(), 5)
        assert isinstance(event, smpp34.DeliverSmEvent)
        assert event.esm_class == 4
        if event.source_addr == phone:
            return event


async def receipt(smsc: smpp34.Smsc, phone: str) -> dict[str, str]:
    event = await receipts(smsc, phone)
    return dict(re.findall(r"(\w+):(\S+)", event.short_message.decode()))


def test_message_reaches_the_phone_and_a_receipt_comes_back(centre: Simulator, phone: str) -> None:
    async def work(smsc: smpp34.Smsc) -> None:
        taken = await submit(smsc, phone)
        answered = await receipt(smsc, phone)
        assert (taken.command_status, answered["id"], answered["stat"]) == (
            0,
            taken.message_id,
            "DELIVRD",
        )

    bound(centre, work)

    (shown,) = centre.messages(phone)
    assert (shown["text"], shown["code"], shown["provider"]) == (
        "Your code is 482915",
        "482915",
        "smpp",
    )
    assert shown["state"] == "delivered"


def test_parts_are_joined_in_their_order_and_reported_one_by_one(
    centre: Simulator, phone: str
) -> None:
    text = ["Ваш код: ", "482915, ", "никому его не говорите"]

    async def work(smsc: smpp34.Smsc) -> None:
        taken = {}
        for number in (2, 3, 1):
            octets = bytes([5, 0, 3, 77, 3, number]) + text[number - 1].encode("utf-16-be")
            response = await submit(smsc, phone, octets, esm_class=0x40, data_coding=8)
            taken[number] = response.message_id
        answered = [(await receipt(smsc, phone))["id"] for _ in range(3)]
        assert answered == [taken[1], taken[2], taken[3]]

    bound(centre, work)

    assert [message["text"] for message in centre.messages(phone)] == ["".join(text)]


def query(centre: Simulator, message_id: str, source: str = "Kvitok") -> tuple[int, bytes]:
    """Status and body of the answer to a query_sm, which the client's library has not."""

    def pdu(command: int, sequence: int, body: bytes) -> bytes:
        return struct.pack(">4L", 16 + len(body), command, 0, sequence) + body

    def respond(peer: socket.socket) -> tuple[int, bytes]:
        length, _command, status, _sequence = struct.unpack(">4L", peer.recv(16))
        return status, peer.recv(length - 16) if length > 16 else b""

    with socket.create_connection(("127.0.0.1", port(centre)), 10) as peer:
        who = f"{SYSTEM_ID}\0{PASSWORD}\0\0".encode() + bytes([0x34, 0, 0]) + b"\0"
        peer.sendall(pdu(0x02, 1, who))
        assert respond(peer)[0] == 0
        peer.sendall(pdu(0x03, 2, f"{message_id}\0".encode() + b"\5\0" + f"{source}\0".encode()))
        return respond(peer)


def test_query_returns_message_outcome(centre: Simulator, phone: str) -> None:
    taken: list[str] = []

    async def work(smsc: smpp34.Smsc) -> None:
        response = await submit(smsc, phone)
        taken.append(response.message_id or "")
        await receipt(smsc, phone)

    bound(centre, work)

    status, body = query(centre, taken[0])
    message_id, final_date, rest = body.split(b"\0", 2)
    assert (status, message_id, len(final_date)) == (0, taken[0].encode(), 16)
    assert rest[0] == 2  # delivered
    assert query(centre, "unknown")[0] == 0x67
    assert query(centre, taken[0], "Stranger")[0] == 0x67


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"validity_period": "in an hour"}, 0x62),
        ({"dest_addr_ton": 0}, 0x50),
        ({"dest_addr_npi": 0}, 0x51),
        ({"source_addr": ""}, 0x0A),
        ({"text": b"x" * 161}, 0x01),
        ({"text": "я".encode("utf-16-be") * 71, "data_coding": 8}, 0x01),
        ({"text": b"caf\xe9", "data_coding": 1}, 0x45),
        ({"text": b"x" * 141, "data_coding": 3}, 0x01),
        ({"text": b"\x1b"}, 0x45),  # an escape that was cut off
        ({"text": b"\xd8\x3d", "data_coding": 8}, 0x45),  # half a face
        ({"text": b"\x05\x00\x03\x01\x02\x03abc", "esm_class": 0x40}, 0x43),  # 3 of 2
        ({"text": b"\x05\x00\x03\x01\x02\x01" + b"x" * 154, "esm_class": 0x40}, 0x01),
    ],
)
def test_invalid_submission_is_refused_by_the_message_centre(
    centre: Simulator, phone: str, changed: dict[str, object], status: int
) -> None:
    async def work(smsc: smpp34.Smsc) -> None:
        response = await submit(smsc, phone, **changed)  # type: ignore[arg-type]
        assert response.command_status == status

    bound(centre, work)

    assert centre.messages(phone) == []


@pytest.mark.parametrize(
    ("kind", "status"),
    [("throttle", THROTTLED), ("unreachable", INVALID_DEST), ("refuse", SUBMIT_FAILED)],
)
def test_fault_refuses_a_message(centre: Simulator, phone: str, kind: str, status: int) -> None:
    centre.set_fault(kind=kind, phone=phone, times=1)

    async def work(smsc: smpp34.Smsc) -> None:
        assert (await submit(smsc, phone)).command_status == status
        assert (await submit(smsc, phone)).command_status == 0

    bound(centre, work)

    assert len(centre.messages(phone)) == 1


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("duplicate_receipt", ["DELIVRD", "DELIVRD"]),
        ("failed_after_delivered", ["DELIVRD", "UNDELIV"]),
        ("delivered_after_failed", ["UNDELIV", "DELIVRD"]),
        ("late_receipt", ["DELIVRD"]),
    ],
)
def test_receipt_faults_apply_to_smpp(
    centre: Simulator, phone: str, kind: str, text: list[str]
) -> None:
    centre.set_fault(kind=kind, phone=phone, latency_ms=100)

    async def work(smsc: smpp34.Smsc) -> None:
        await submit(smsc, phone)
        assert [(await receipt(smsc, phone))["stat"] for _ in text] == text

    bound(centre, work)


def test_more_at_once_than_the_window_is_throttled(centre: Simulator, phone: str) -> None:
    centre.set_fault(phone=phone, latency_ms=300)

    async def work(smsc: smpp34.Smsc) -> None:
        responses = await asyncio.gather(*(submit(smsc, phone) for _ in range(WINDOW + 2)))
        command_statuses = sorted(response.command_status for response in responses)
        assert command_statuses == [0] * WINDOW + [THROTTLED] * 2

    bound(centre, work)


def test_receipt_waits_for_somebody_who_is_bound(centre: Simulator, phone: str) -> None:
    centre.set_fault(kind="late_receipt", phone=phone, latency_ms=300)
    message_ids: list[str | None] = []

    async def send(smsc: smpp34.Smsc) -> None:
        message_ids.append((await submit(smsc, phone)).message_id)

    async def come_back(smsc: smpp34.Smsc) -> None:
        assert (await receipt(smsc, phone))["id"] == message_ids[0]

    bound(centre, send)
    eventually(lambda: centre.state(phone) == "delivered")
    bound(centre, come_back)


def test_unknown_client_cannot_bind(centre: Simulator) -> None:
    async def do() -> None:
        with pytest.raises(smpp34.SmppError):
            await client(centre, "wrong").connect()

    asyncio.run(asyncio.wait_for(do(), 20))
