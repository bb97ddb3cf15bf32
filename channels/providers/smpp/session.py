"""One SMPP session: requests and responses in both directions over one TCP connection."""

import asyncio
import struct
import time
from collections.abc import Callable
from typing import Any

from channels.providers.smpp import pdu
from channels.providers.smpp.pdu import MalformedError, Pdu

INVALID_COMMAND = 0x03
ENQUIRE_LINK_TIMEOUT = 10.0  # seconds for the response, or the connection is dead
RESPONSE_TIMEOUT = 60.0  # seconds after which a response is no longer expected

OnDeliver = Callable[["Session", Pdu], None]


class LostError(Exception):
    """The connection broke before the response came."""


class Session:
    """A session that may be used on one event loop only."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        window: int,
        deliver: OnDeliver,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._deliver = deliver
        self._sequence = pdu.SequenceGenerator()
        # The name of the expected response and its future, by sequence number.
        self._responses: dict[int, tuple[str, asyncio.Future[Pdu]]] = {}
        self.slots = asyncio.Semaphore(window)
        self._last_read_at = time.monotonic()

    @property
    def unanswered(self) -> int:
        return len(self._responses)

    def request(self, name: str, **fields: Any) -> "asyncio.Future[Pdu]":
        """Writes a request; the future holds its response, a LostError or a MalformedError."""
        sequence, octets = pdu.encode(name, self._sequence, **fields)
        loop = asyncio.get_running_loop()
        expected: asyncio.Future[Pdu] = loop.create_future()
        self._responses[sequence] = f"{name}_resp", expected
        self._writer.write(octets)
        expiry = loop.call_later(RESPONSE_TIMEOUT, expected.cancel)

        def forget(_: object) -> None:
            expiry.cancel()
            del self._responses[sequence]

        expected.add_done_callback(forget)
        return expected

    def respond(self, request: Pdu, status: int = 0) -> None:
        """Responds to a request of the centre; writes nothing once the connection is closed."""
        self._write(pdu.encode_response(f"{request.name}_resp", request.sequence, status))

    def _write(self, octets: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(octets)

    async def read(self) -> None:
        """Reads until the centre disconnects; then raises LostError."""
        try:
            while True:
                self._dispatch(await self._next())
                # A peer that does not read our responses is not read either.
                await self._writer.drain()
        except (OSError, EOFError) as error:
            raise LostError(type(error).__name__) from None

    async def _next(self) -> bytes:
        head = await self._reader.readexactly(4)
        (length,) = struct.unpack(">L", head)
        if not pdu.HEADER_LENGTH <= length <= pdu.MAX_LENGTH:
            raise EOFError
        return head + await self._reader.readexactly(length - 4)

    def _dispatch(self, octets: bytes) -> None:
        self._last_read_at = time.monotonic()
        try:
            received = pdu.decode(octets)
        except MalformedError as error:
            _name, expected = self._responses.get(error.sequence, ("", None))
            if not error.is_response:
                self._write(pdu.encode_response("generic_nack", error.sequence, INVALID_COMMAND))
            elif expected is not None:
                _fail(expected, error)
            return
        if received.is_response:
            self._resolve(received)
        elif received.name in pdu.DELIVERIES:
            self._deliver(self, received)
        else:
            self._handle_request(received)

    def _resolve(self, response: Pdu) -> None:
        """Sets the result of a request, unless the response is one to another command."""
        name, expected = self._responses.get(response.sequence, ("", None))
        is_refusal = response.name == "generic_nack" and response.status
        if expected is not None and not expected.done() and (response.name == name or is_refusal):
            expected.set_result(response)

    def _handle_request(self, request: Pdu) -> None:
        if request.name == "enquire_link":
            self.respond(request)
        elif request.name == "unbind":
            self.respond(request)
            self._writer.close()
        elif request.name != "alert_notification":  # it has no response
            self._write(pdu.encode_response("generic_nack", request.sequence, INVALID_COMMAND))

    async def keep_alive(self, interval: float) -> None:
        """Sends enquire_link after a silence; raises LostError without a response."""
        while True:
            silence = time.monotonic() - self._last_read_at
            if silence < interval:
                await asyncio.sleep(interval - silence)
                continue
            try:
                async with asyncio.timeout(ENQUIRE_LINK_TIMEOUT):
                    await self.request("enquire_link")
            except TimeoutError:
                raise LostError("no response to enquire_link") from None

    def close(self) -> None:
        """Aborts the connection and fails all requests without a response."""
        self._writer.transport.abort()
        for _name, expected in list(self._responses.values()):
            _fail(expected, LostError("the connection broke"))


def _fail(expected: "asyncio.Future[Pdu]", error: Exception) -> None:
    if not expected.done():
        expected.set_exception(error)
        expected.exception()  # marks it as retrieved: nobody may be waiting any more
