"""One TCP connection to a message centre: our requests and their answers, its requests and ours."""

import asyncio
import struct
import time
from collections.abc import Callable
from typing import Any

from channels.providers.smpp import pdu
from channels.providers.smpp.pdu import MalformedError, Pdu

INVALID_COMMAND = 0x03
ENQUIRE_LINK_TIMEOUT = 10.0  # seconds to answer enquire_link, or the line is dead
RESPONSE_TIMEOUT = 60.0  # seconds after which an answer is no longer expected

OnDeliver = Callable[["Session", Pdu], None]


class LostError(Exception):
    """The connection broke before an answer came."""


class Session:
    """Written to and read from on one event loop only."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        window: int,
        deliver: OnDeliver,
    ) -> None:
        self._reader, self._writer = reader, writer
        self._deliver = deliver
        self._numbers = pdu.SequenceGenerator()
        self._answers: dict[int, asyncio.Future[Pdu]] = {}
        self.places = asyncio.Semaphore(window)
        self._heard_at = time.monotonic()

    @property
    def unanswered(self) -> int:
        return len(self._answers)

    def request(self, name: str, **fields: Any) -> "asyncio.Future[Pdu]":
        """Write a request; the future is its answer, a LostError or a MalformedError."""
        sequence, octets = pdu.encode(name, self._numbers, **fields)
        loop = asyncio.get_running_loop()
        expected = self._answers[sequence] = loop.create_future()
        self._writer.write(octets)
        forgetting = loop.call_later(RESPONSE_TIMEOUT, expected.cancel)

        def done(_: object) -> None:
            forgetting.cancel()
            del self._answers[sequence]

        expected.add_done_callback(done)
        return expected

    def answer(self, request: Pdu, status: int = 0) -> None:
        """Nothing is written any more once the connection is gone."""
        self._write(pdu.encode_response(f"{request.name}_resp", request.sequence, status))

    def _write(self, octets: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(octets)

    async def read(self) -> None:
        """Until the other side goes away; raises LostError."""
        try:
            while True:
                self._take(await self._next())
        except (OSError, EOFError) as error:
            raise LostError(type(error).__name__) from None

    async def _next(self) -> bytes:
        head = await self._reader.readexactly(4)
        (length,) = struct.unpack(">L", head)
        if not pdu.HEADER_LENGTH <= length <= pdu.MAX_LENGTH:
            raise EOFError
        return head + await self._reader.readexactly(length - 4)

    def _take(self, octets: bytes) -> None:
        self._heard_at = time.monotonic()
        try:
            one = pdu.decode(octets)
        except MalformedError as error:
            self._complain(error)
            return
        if one.is_answer:
            self._resolve(one)
        elif one.name in {"deliver_sm", "data_sm"}:  # receipts come in either
            self._deliver(self, one)
        else:
            self._oblige(one)

    def _complain(self, error: MalformedError) -> None:
        expected = self._answers.get(error.sequence)
        if not error.is_answer:
            self._write(pdu.encode_response("generic_nack", error.sequence, INVALID_COMMAND))
        elif expected is not None:
            _fail(expected, error)

    def _resolve(self, one: Pdu) -> None:
        expected = self._answers.get(one.sequence)
        if expected is not None and not expected.done():
            expected.set_result(one)

    def _oblige(self, request: Pdu) -> None:
        if request.name == "enquire_link":
            self.answer(request)
        elif request.name == "unbind":
            self.answer(request)
            self._writer.close()
        elif request.name != "alert_notification":  # which wants no answer
            self._write(pdu.encode_response("generic_nack", request.sequence, INVALID_COMMAND))

    async def keep_alive(self, every: float) -> None:
        """Ask when nothing was heard for a while; raises LostError when nobody answers."""
        while True:
            quiet = time.monotonic() - self._heard_at
            if quiet < every:
                await asyncio.sleep(every - quiet)
                continue
            try:
                async with asyncio.timeout(ENQUIRE_LINK_TIMEOUT):
                    await self.request("enquire_link")
            except TimeoutError:
                raise LostError("no answer to enquire_link") from None

    def close(self) -> None:
        """Whoever waits for an answer learns that there will be none."""
        self._writer.transport.abort()
        for expected in list(self._answers.values()):
            _fail(expected, LostError("the connection broke"))


def _fail(expected: "asyncio.Future[Pdu]", error: Exception) -> None:
    if not expected.done():
        expected.set_exception(error)
        expected.exception()  # looked at: there may be nobody who waits any more
