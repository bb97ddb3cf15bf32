"""One client session of the message centre, from bind to close."""

import asyncio
import socket
import struct
from itertools import count
from typing import Protocol

from tools.simulator.smpp import pdu
from tools.simulator.smpp.pdu import BadPduError, Bind, Head, Query, Submit

OK = 0x00
INVALID_LENGTH, INVALID_COMMAND, NOT_BOUND, ALREADY_BOUND = 0x02, 0x03, 0x04, 0x05
THROTTLED = 0x58
BINDS = {pdu.BIND_RECEIVER, pdu.BIND_TRANSMITTER, pdu.BIND_TRANSCEIVER}
RECEIVERS = {pdu.BIND_RECEIVER, pdu.BIND_TRANSCEIVER}
SENDERS = {pdu.BIND_TRANSMITTER, pdu.BIND_TRANSCEIVER}
PATIENCE = 10.0  # seconds for a deliver_sm to be answered
ABORT_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER on, 0 s: the peer gets a RST


class MessageCentre(Protocol):
    window: int

    def admit(self, bind: Bind) -> int:
        """The status of the answer to a bind."""

    async def take(self, session: "Session", submit: Submit) -> tuple[int, str] | None:
        """Status and message id; None: this one is never answered."""

    def look_up(self, query: Query) -> tuple[int, bytes]:
        """Status and body of the answer to a query_sm."""


class Session:
    def __init__(
        self, centre: MessageCentre, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
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

    def close(self, *, abort: bool = False) -> None:
        for task in self._under_way:
            task.cancel()
        for response in self._pending_responses.values():
            response.cancel()
        if abort:
            peer: socket.socket = self._writer.get_extra_info("socket")
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABORT_ON_CLOSE)
            self._writer.transport.abort()
        self._writer.close()

    async def deliver(self, body: bytes) -> bool:
        """Whether the client says that it has it."""
        sequence = next(self._numbers)
        response: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._pending_responses[sequence] = response
        self._writer.write(pdu.write(pdu.DELIVER_SM, OK, sequence, body))
        try:
            async with asyncio.timeout(PATIENCE):
                return await response == OK
        except (TimeoutError, asyncio.CancelledError):
            return False
        finally:
            del self._pending_responses[sequence]

    async def _next(self) -> None:
        octets = await self._reader.readexactly(pdu.HEADER.size)
        length, *rest = pdu.HEADER.unpack(octets)
        head = Head(*rest)
        if not pdu.HEADER.size <= length <= pdu.LONGEST:
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
            self._enter(head, Bind.read(body))
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

    def _enter(self, head: Head, bind: Bind) -> None:
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
        answer = await self._centre.take(self, submit)
        if answer is not None:
            status, message_id = answer
            self._answer(head, status, pdu.cstring(message_id) if status == OK else b"")

    def _answer(self, head: Head, status: int, body: bytes = b"") -> None:
        self._write(pdu.write(head.command | pdu.RESPONSE, status, head.sequence, body))

    def _nack(self, head: Head, status: int) -> None:
        self._write(pdu.write(pdu.GENERIC_NACK, status, head.sequence))

    def _write(self, octets: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(octets)
