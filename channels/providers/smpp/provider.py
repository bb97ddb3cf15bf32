"""SMS by SMPP 3.4, over one transceiver bind.

https://smpp.org/SMPP_v3_4_Issue1_2.pdf
"""

import asyncio
import os
import random
import time
from collections.abc import Callable, Mapping
from functools import partial
from itertools import count

from channels.providers import http
from channels.providers.base import (
    Accepted,
    AmbiguousError,
    Capabilities,
    Channel,
    Content,
    Outgoing,
    Receipt,
    ReceiptState,
    SendError,
    ThrottledError,
    TransientError,
    UnreachableError,
)
from channels.providers.hosted_provider import HostedProvider, Part, StoreReports
from channels.providers.smpp import command_status, receipts
from channels.providers.smpp.bind import Bind, NotBoundError, Peer
from channels.providers.smpp.message_ids import ID_FORMATS
from channels.providers.smpp.pdu import MalformedError, Pdu
from channels.providers.smpp.receipt_queue import ReceiptQueue
from channels.providers.smpp.session import LostError, Session
from channels.providers.smpp.submit_sm import AUTO_DETECT, Fields, MessageFormat

MIN_PAUSE, MAX_PAUSE = 0.5, 10.0  # seconds of silence after being throttled, with full jitter
PART_RETRY_DELAY = 0.2  # seconds until the rest of a message that is begun is tried again

PartKey = tuple[str, int, int]  # of a part: our attempt id, its number, how many there are


class Smpp(HostedProvider):
    name = "smpp"
    channel = Channel.SMS
    capabilities = Capabilities(frozenset(Content), receipts=True)

    def __init__(
        self,
        *,
        host: str,
        port: int,
        tls: bool,
        system_id: str,
        password: str,
        source: str,
        system_type: str = "",
        ca_file: str = "",
        source_ton: int = AUTO_DETECT,
        source_npi: int = AUTO_DETECT,
        dest_ton: int = 1,
        dest_npi: int = 1,
        alphabet: str = "gsm",
        long: str = "udh",
        validity: str = "relative",
        message_ids: str = "auto",
        statuses: Mapping[str, str] | None = None,
        window: int = 10,
        enquire: float = 30.0,
        timeout: http.Timeout = (2.0, 8.0),
    ) -> None:
        self._peer = Peer(host, port, tls, system_id, password, system_type, ca_file)
        self._style = MessageFormat(
            source, source_ton, source_npi, dest_ton, dest_npi, alphabet, long, validity
        )
        self._statuses = command_status.parse_overrides(statuses or {})
        self.window, self._enquire, self._timeout = window, enquire, timeout
        self._spelling = ID_FORMATS[message_ids]
        self._references = count(os.urandom(1)[0])
        self._throttled = 0  # times in a row
        self._paused_until = 0.0
        self._bind: Bind | None = None

    def start(self, *, keep: StoreReports, opened: Callable[[], None]) -> None:
        self._keeping, self._opened = ReceiptQueue(keep), opened
        self._bind = Bind(
            self._peer,
            window=self.window,
            timeout=self._timeout,
            enquire=self._enquire,
            deliver=self._deliver,
            opened=opened,
            keeping=self._keeping,
        )
        self._bind.start()

    def stop(self) -> None:
        if self._bind is not None:
            self._bind.stop()

    @property
    def is_open(self) -> bool:
        is_bound = self._bind is not None and self._bind.is_open
        return is_bound and time.monotonic() >= self._paused_until

    def facts(self) -> Mapping[str, int]:
        bind = self._bind
        return {
            "bound": int(bind is not None and bind.is_open),
            "unanswered": bind.unanswered if bind else 0,
            "window": self.window,
        }

    def send(self, message: Outgoing) -> Accepted:
        """A message of several parts goes out part by part: as soon as one is taken the message is
        on its way, and whatever happens to the rest, it is never begun anew.
        """
        bind = self._bind
        if bind is None:
            raise _not_bound()
        try:
            return bind.run(self._send(bind, message))
        except NotBoundError:
            raise _not_bound() from None

    async def _send(self, bind: Bind, message: Outgoing) -> Accepted:
        until = time.monotonic() + sum(self._timeout)
        parts = self._style.submissions(message, next(self._references))
        taken: list[str] = []
        for number, fields in enumerate(parts, start=1):
            place = (message.ref, number, len(parts))
            try:
                taken.append(await self._submit(bind, until, place, fields))
            except SendError as error:
                if not taken:
                    raise
                raise _unfinished(error, place) from None
        # Not the id of any part: a receipt for one of them must not speak for all.
        return Accepted("+".join(filter(None, taken))[:200] or None)

    async def _submit(self, bind: Bind, until: float, place: PartKey, fields: Fields) -> str:
        """The id under which this part was taken; the rest of a message that is begun may wait."""
        _ref, number, _total = place
        while True:
            try:
                return await self._submit_once(bind, until, place, fields)
            except TransientError:
                if number == 1 or time.monotonic() + PART_RETRY_DELAY > until:
                    raise
                await asyncio.sleep(PART_RETRY_DELAY)

    async def _submit_once(self, bind: Bind, until: float, place: PartKey, fields: Fields) -> str:
        try:
            answer = await bind.submit(until, partial(self._came_late, place), **fields)
        except NotBoundError:
            raise _not_bound() from None
        except (LostError, TimeoutError, MalformedError) as error:
            raise AmbiguousError("no_answer", type(error).__name__) from None
        if answer.status:
            raise self._refusal(answer)
        self._throttled = 0
        return self._took(answer, place)

    def _refusal(self, answer: Pdu) -> SendError:
        error = command_status.refusal(answer.status, self._statuses)
        if isinstance(error, ThrottledError) and error.account:
            error.retry_after = self._pause()
        return error

    def _pause(self) -> float:
        """Claim nothing for a while: longer, the more often we are told so. One burst of refusals,
        which a window brings at once, counts as one.
        """
        now = time.monotonic()
        if now >= self._paused_until:
            self._throttled += 1
            longest = min(MAX_PAUSE, MIN_PAUSE * 2.0 ** min(self._throttled - 1, 10))
            self._paused_until = now + random.uniform(0, longest)  # noqa: S311 - not a secret
            asyncio.get_running_loop().call_at(self._paused_until, self._opened)
        return self._paused_until - now

    def _took(self, answer: Pdu, place: PartKey) -> str:
        ref, number, total = place
        message_id = self._spelling.answered(receipts.text(answer.fields.get("message_id")))
        if total > 1 and message_id:
            self._keeping.put((Part(ref, number, total, message_id), b""))
        return message_id

    def _came_late(self, place: PartKey, answer: Pdu) -> None:
        """The answer to a submit_sm that had been given up: it still says what became of it."""
        ref, number, total = place
        if not answer.status:
            message_id = self._took(answer, place)
            if total == 1:
                told = Receipt(message_id or None, ref, ReceiptState.SENT, "submit_sm_resp")
                self._keeping.put((told, b""))
        elif number == 1:  # of a message that was not begun, then
            error = command_status.refusal(answer.status, self._statuses)
            is_person = isinstance(error, UnreachableError)
            state = ReceiptState.UNREACHABLE if is_person else ReceiptState.FAILED
            told = Receipt(None, ref, state, "submit_sm_resp", None, error.code, error.detail)
            self._keeping.put((told, b""))

    def _deliver(self, session: Session, request: Pdu) -> None:
        """The centre hears that we have what it brought once that is stored, and not before."""
        told = receipts.receipt(request, self._spelling)
        said = None if told else receipts.reply(request)
        kept = (told, receipts.raw(request)) if told else said and (said, b"")
        if not kept:
            session.answer(request)
            return
        self._keeping.put(
            kept,
            lambda is_stored: session.answer(
                request, 0 if is_stored else command_status.RETRY_LATER
            ),
        )


def _not_bound() -> TransientError:
    return TransientError("not_bound", "no bind with the centre, or no place in its window")


def _unfinished(error: SendError, place: PartKey) -> AmbiguousError:
    """The phone has the beginning: sent anew, it would come twice."""
    _ref, number, total = place
    detail = f"{number - 1} of {total} parts were taken; the next: {error.code}"
    return AmbiguousError("unfinished", detail)
