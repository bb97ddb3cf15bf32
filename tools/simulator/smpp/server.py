"""A message centre that speaks SMPP 3.4, as https://smpp.org/SMPP_v3_4_Issue1_2.pdf words it."""

import asyncio
import re
import secrets
import socket
import time
from collections.abc import AsyncIterator
from functools import partial
from itertools import count

from aiohttp import web

from tools.simulator.carrier import Carrier
from tools.simulator.faults import LOST, SERVER_ERROR, SILENCES, FaultPlan
from tools.simulator.messages import Message
from tools.simulator.smpp import pdu
from tools.simulator.smpp.pdu import BadPduError, Bind, Head, Parts, Query, Submit, UnreadableError
from tools.simulator.vendor import Deliver, Vendor, abort

OK = 0x00
INVALID_LENGTH = 0x02
INVALID_COMMAND = 0x03
NOT_BOUND = 0x04
ALREADY_BOUND = 0x05
THROTTLED = 0x58
BINDS = {pdu.BIND_RECEIVER, pdu.BIND_TRANSMITTER, pdu.BIND_TRANSCEIVER}
RECEIVERS = {pdu.BIND_RECEIVER, pdu.BIND_TRANSCEIVER}
SENDERS = {pdu.BIND_TRANSMITTER, pdu.BIND_TRANSCEIVER}
TIMEOUT = 10.0  # seconds for a deliver_sm to be answered


class Session:
    def __init__(
        self, centre: "Smpp", reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._centre, self._reader, self._writer = centre, reader, writer
        self._bound_as: int | None = None
        self._numbers = count(1)
        self._pending_responses: dict[int, asyncio.Future[int]] = {}
        self._under_way: set[asyncio.Task[None]] = set()

    @property
    def can_receive(self) -> bool:
        return self._bound_as in RECEIVERS and not self._writer.is_closing()

    async def run(self) -> None:
        try:
            while not self._writer.is_closing():
                await self._next()
        except (OSError, EOFError):
            pass
        finally:
            self.close()

    def close(self, *, reset: bool = False) -> None:
        for task in self._under_way:
            task.cancel()
        for response in self._pending_responses.values():
            response.cancel()
        if reset:
            abort(self._writer.transport)
        self._writer.close()

    async def deliver(self, body: bytes) -> bool:
        """Whether the client says that it has it."""
        sequence = next(self._numbers)
        response: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._pending_responses[sequence] = response
        self._writer.write(pdu.write(pdu.DELIVER_SM, OK, sequence, body))
        try:
            async with asyncio.timeout(TIMEOUT):
                return await response == OK
        except (TimeoutError, asyncio.CancelledError):
            return False
        finally:
            del self._pending_responses[sequence]

    async def _next(self) -> None:
        octets = await self._reader.readexactly(pdu.HEADER.size)
        length, *rest = pdu.HEADER.unpack(octets)
        head = Head(*rest)
        if not pdu.HEADER.size <= length <= pdu.MAX_LENGTH:
            self._nack(head, INVALID_LENGTH)
            raise EOFError
        body = await self._reader.readexactly(length - pdu.HEADER.size)
        try:
            self._handle(head, body)
        except BadPduError:
            self._answer(head, INVALID_LENGTH)

    def _handle(self, head: Head, body: bytes) -> None:
        if head.is_response:
            response = self._pending_responses.get(head.sequence)
            if response is not None and not response.done():
                response.set_result(head.status)
        elif head.command in BINDS:
            self._bind(head, Bind.read(body))
        elif head.command == pdu.ENQUIRE_LINK:
            self._answer(head, OK)
        elif head.command == pdu.UNBIND:
            self._answer(head, OK)
            self._writer.close()
        elif head.command == pdu.SUBMIT_SM:
            self._submit(head, body)
        elif head.command == pdu.QUERY_SM and self._bound_as in SENDERS:
            self._answer(head, *self._centre.look_up(Query.read(body)))
        else:
            self._nack(head, INVALID_COMMAND)

    def _bind(self, head: Head, bind: Bind) -> None:
        status = ALREADY_BOUND if self._bound_as else self._centre.admit(bind)
        if status == OK:
            self._bound_as = head.command
        name = pdu.cstring("simulator") if status == OK else b""
        self._answer(head, status, name)

    def _submit(self, head: Head, body: bytes) -> None:
        if self._bound_as not in SENDERS:
            self._answer(head, NOT_BOUND)
        elif len(self._under_way) >= self._centre.window:
            self._answer(head, THROTTLED)
        else:
            task = asyncio.create_task(self._take(head, Submit.read(body)))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    async def _take(self, head: Head, submit: Submit) -> None:
        response = await self._centre.take(self, submit)
        if response is not None:
            status, message_id = response
            self._answer(head, status, pdu.cstring(message_id) if status == OK else b"")

    def _answer(self, head: Head, status: int, body: bytes = b"") -> None:
        self._write(pdu.write(head.command | pdu.RESPONSE, status, head.sequence, body))

    def _nack(self, head: Head, status: int) -> None:
        self._write(pdu.write(pdu.GENERIC_NACK, status, head.sequence))

    def _write(self, octets: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(octets)


INVALID_SOURCE = 0x0A
INVALID_DEST = 0x0B
INVALID_PASSWORD = 0x0E
INVALID_SYSTEM_ID = 0x0F
SYSTEM_ERROR = 0x08
QUERY_FAILED = 0x67
SUBMIT_FAILED = 0x45
INVALID_DEST_TON = 0x50
INVALID_DEST_NPI = 0x51
INVALID_EXPIRY = 0x62
REFUSALS = {
    "unreachable": INVALID_DEST,
    "refuse": SUBMIT_FAILED,
    "throttle": THROTTLED,
    SERVER_ERROR: SYSTEM_ERROR,  # and here it says that nothing was taken
}
STATES = {"delivered": (2, "DELIVRD"), "failed": (5, "UNDELIV")}  # no receipt tells of "sent"
# Values of message_state.
EN_ROUTE = 1
FINAL_STATES = {"delivered": 2, "read": 2, "failed": 5}
REMEMBERED = 10_000  # parts of long messages
PHONE = re.compile(r"[1-9][0-9]{6,14}")
SOURCE = re.compile(r"[ -~]{1,20}")
EXPIRY = re.compile(r"([0-9]{15}R)?|[0-9]{15}[+-]")
INTERNATIONAL = 1
ISDN = 1


class Smpp(Vendor):
    name = "smpp"
    channel = "sms"
    can_reply = True

    def __init__(self, carrier: Carrier) -> None:
        super().__init__(carrier)
        self._parts = Parts()
        self._first_of: dict[str, str] = {}
        self._sessions: dict[Session, asyncio.Task[None]] = {}
        self.window = carrier.settings.smpp_window

    async def running(self, listener: socket.socket, _app: web.Application) -> AsyncIterator[None]:
        server = await asyncio.start_server(self._on_connect, sock=listener)
        yield
        server.close()
        for session, task in list(self._sessions.items()):
            session.close()
            task.cancel()

    async def _on_connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        session = Session(self, reader, writer)
        task = asyncio.current_task()
        if task is not None:
            self._sessions[session] = task
        try:
            await session.run()
        except asyncio.CancelledError:
            pass
        finally:
            self._sessions.pop(session, None)

    def admit(self, bind: Bind) -> int:
        system_id, password = self.settings.smpp_system_id, self.settings.smpp_password
        if not system_id or bind.system_id != system_id:
            return INVALID_SYSTEM_ID
        return OK if bind.password == password else INVALID_PASSWORD

    async def take(self, session: Session, submit: Submit) -> tuple[int, str] | None:
        """Faults decide, as with other vendors, but for each part of a long message separately."""
        try:
            _check(submit)
            piece = pdu.read_text(submit)
        except UnreadableError as unreadable:
            return unreadable.status, ""
        plan = self.carrier.plan(self, submit.dest)
        if plan.answer in REFUSALS:
            await asyncio.sleep(plan.latency)
            return REFUSALS[plan.answer], ""
        if plan.answer == LOST:
            session.close(reset=True)
            return None
        message_id = secrets.token_hex(5)
        assembled = self._parts.add(submit, piece, message_id)
        message = None
        if assembled:
            text, ids = assembled
            extra = {"ids": ids, "source": submit.source, "registered": submit.registered & 3}
            message = self.message(ids[0], submit.dest, text, extra=extra)
            self._remember(message)
            self.carrier.keep(self, message, plan)
        return await self._reply(session, plan, message, message_id)

    async def _reply(
        self, session: Session, plan: FaultPlan, message: Message | None, message_id: str
    ) -> tuple[int, str] | None:
        if plan.answer not in SILENCES:
            await asyncio.sleep(plan.latency)
        if message is not None:
            self.carrier.courier.start(message, self.carrier.delay(plan))
        if plan.answer not in SILENCES:
            return OK, message_id
        if plan.answer == "reset":
            await asyncio.sleep(plan.latency)
            session.close(reset=True)
        return None

    def _remember(self, message: Message) -> None:
        """Stores the id by which a long message was logged, for queries by another part."""
        first, *other_ids = message.extra["ids"]
        self._first_of.update(dict.fromkeys(other_ids, first))
        while len(self._first_of) > REMEMBERED:
            del self._first_of[next(iter(self._first_of))]

    def look_up(self, query: Query) -> tuple[int, bytes]:
        """Answers a query by the id of any part; only the message's sender may query it."""
        message = self.carrier.log.by_provider_id(
            self.name, self._first_of.get(query.message_id, query.message_id)
        )
        if message is None or message.extra["source"] != query.source:
            return QUERY_FAILED, b""
        is_final = message.state in FINAL_STATES
        done_at = time.strftime("%y%m%d%H%M%S000+", time.gmtime()) if is_final else ""
        state = FINAL_STATES[message.state] if is_final else EN_ROUTE
        return OK, pdu.cstring(query.message_id) + pdu.cstring(done_at) + bytes([state, 0])

    def receipt(self, message: Message, event: str, moment: float) -> Deliver | None:
        if event not in STATES or not message.extra["registered"]:
            return None
        return partial(self._send_receipt, message, event, moment)

    def reply(self, message: Message, text: str) -> Deliver:
        return partial(self._send_reply, pdu.incoming(message.phone, message.extra["source"], text))

    async def _send_reply(self, body: bytes) -> bool:
        session = next((row for row in self._sessions if row.can_receive), None)
        return session is not None and await session.deliver(body)

    async def _send_receipt(self, message: Message, event: str, moment: float) -> bool:
        """A receipt for each part, to any bound client, or later if there is none."""
        session = next((row for row in self._sessions if row.can_receive), None)
        if session is None:
            return False
        for message_id in message.extra["ids"]:
            if not await session.deliver(_receipt(message, message_id, event, moment)):
                return False
        return True


def _check(submit: Submit) -> None:
    """Raises UnreadableError."""
    rules = (
        (SOURCE.fullmatch(submit.source), INVALID_SOURCE),
        (submit.dest_ton == INTERNATIONAL, INVALID_DEST_TON),
        (submit.dest_npi == ISDN, INVALID_DEST_NPI),
        (PHONE.fullmatch(submit.dest), INVALID_DEST),
        (EXPIRY.fullmatch(submit.validity), INVALID_EXPIRY),
    )
    for is_kept, status in rules:
        if not is_kept:
            raise UnreadableError(status)


def _receipt(message: Message, message_id: str, event: str, moment: float) -> bytes:
    state, word = STATES[event]
    submitted = time.strftime("%y%m%d%H%M", time.gmtime(message.at))
    done_at = time.strftime("%y%m%d%H%M", time.gmtime(moment))
    delivered, error = ("001", "000") if event == "delivered" else ("000", "027")
    line = (
        f"id:{message_id} sub:001 dlvrd:{delivered} submit date:{submitted} done date:{done_at}"
        f" stat:{word} err:{error} text:"
    )
    tlvs = pdu.tlv(pdu.RECEIPTED_MESSAGE_ID, pdu.cstring(message_id))
    tlvs += pdu.tlv(pdu.MESSAGE_STATE, bytes([state]))
    return pdu.receipt(message.phone, message.extra["source"], line, tlvs)
