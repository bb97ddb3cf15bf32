"""An independent message centre: the server of the smpp34 library, on a thread."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from itertools import count
from typing import Any, TypeVar

import pytest
import smpp34

from channels.providers.base import Outgoing, SendError
from channels.providers.inbound import InboundEvents, Part, Receipt
from channels.providers.smpp.provider import Smpp
from tests.channels.providers.vendors import message
from tests.ports import free_port
from tests.stack.programs import wait_until

T = TypeVar("T")
Judge = Callable[[smpp34.SubmitSmEvent, str], None]
Bound = Callable[..., Smpp]  # makes an account that is bound to the centre


def accept(event: smpp34.SubmitSmEvent, message_id: str) -> None:
    event.accept(message_id)


class Centre:
    """A message centre that keeps submitted messages; `judge` answers with the next id."""

    def __init__(self, port: int = 0) -> None:
        self.port = port or free_port()
        self.judge: Judge = accept
        self.submitted: list[smpp34.SubmitSmEvent] = []
        self.esme: smpp34.Esme | None = None
        self._ids = (f"m{number:05}" for number in count(1))
        self._loop = asyncio.new_event_loop()
        self._up = threading.Event()
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._thread.start()
        assert self._up.wait(25)

    def _live(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._server = smpp34.Server(host="127.0.0.1", port=self.port, system_id="centre")
        await self._server.start()
        self._ended = asyncio.Event()
        reading = asyncio.create_task(self._read())
        self._up.set()
        await self._ended.wait()
        reading.cancel()
        await self._server.stop()

    async def _read(self) -> None:
        while True:
            event = await self._server.next()
            if isinstance(event, smpp34.Esme):
                self.esme = event
            elif isinstance(event, smpp34.SubmitSmEvent):
                self.submitted.append(event)
                self.judge(event, next(self._ids))
            else:
                self.esme = None

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(5)

    def leave(self) -> None:
        """Unbinds the account, which may bind again."""
        esme, self.esme = self.esme, None
        assert esme is not None

        async def unbind() -> None:
            await esme.unbind()

        self.do(unbind())

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(25)

    def deliver(self, line: str, esm_class: int = 4, tlvs: Sequence[smpp34.Tlv] = ()) -> int:
        """Delivers to the account; returns the status of its response."""
        assert self.esme is not None

        async def bring() -> smpp34.DeliverSmResp:
            assert self.esme is not None
            return await self.esme.deliver_sm(
                destination_addr="Kvitok",
                source_addr="998901234567",
                source_addr_ton=1,
                short_message=line.encode(),
                esm_class=esm_class,
                tlvs=list(tlvs),
            )

        return self.do(bring()).command_status


class Kept:
    """The messages that an account handed in; the next `fails` of them raise."""

    def __init__(self) -> None:
        self.events: list[InboundEvents] = []
        self.fails = 0

    def __call__(self, batch: Sequence[InboundEvents]) -> None:
        if self.fails:
            self.fails -= 1
            raise OSError
        self.events.extend(batch)

    @property
    def receipts(self) -> list[Receipt]:
        return [receipt for event in self.events for receipt in event.receipts]

    @property
    def parts(self) -> list[Part]:
        return [part for event in self.events for part in event.parts]

    def first(self) -> Receipt:
        wait_until(lambda: bool(self.receipts))
        return self.receipts[0]


def account(port: int, **changes: Any) -> Smpp:
    usual: dict[str, Any] = {
        "host": "127.0.0.1",
        "port": port,
        "tls": False,
        "system_id": "kvitok",
        "password": "secret",
        "source": "Kvitok",
        "timeout": (0.5, 1.0),
    }
    return Smpp(**usual | changes)


def refused(one: Smpp, outgoing: Outgoing | None = None) -> SendError:
    with pytest.raises(SendError) as caught:
        one.send(outgoing or message())
    return caught.value


def respond_with(*statuses: int) -> Judge:
    """Answers the next submissions with these statuses, and later ones with 0."""
    left = list(statuses)

    def judge(event: smpp34.SubmitSmEvent, message_id: str) -> None:
        if status := left.pop(0) if left else 0:
            event.reject(status)
        else:
            event.accept(message_id)

    return judge


def keep_silent(_event: smpp34.SubmitSmEvent, _message_id: str) -> None:
    """The centre library answers for an event that is dropped, so this one keeps it."""
