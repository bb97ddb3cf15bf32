"""SMS over SMPP 3.4, with one transceiver bind.

https://smpp.org/SMPP_v3_4_Issue1_2.pdf
"""

import asyncio
import os
import random
import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from itertools import count

from channels.providers import http
from channels.providers.base import (
    Accepted,
    AmbiguousError,
    BarredError,
    Capabilities,
    Content,
    HostedProvider,
    Outgoing,
    SendError,
    StoreEvents,
    ThrottledError,
    TransientError,
    UnreachableError,
)
from channels.providers.inbound import (
    AccountAlert,
    AlertKind,
    InboundEvents,
    Part,
    Receipt,
    ReceiptState,
)
from channels.providers.smpp import command_status, receipts
from channels.providers.smpp.bind import Bind, NotBoundError, Peer
from channels.providers.smpp.pdu import MalformedError, Pdu
from channels.providers.smpp.receipt_queue import ReceiptQueue
from channels.providers.smpp.receipts import ID_FORMATS, ReceiptFormat, parse_states
from channels.providers.smpp.session import LostError, Session
from channels.providers.smpp.submit_sm import (
    AUTO_DETECT,
    DefaultAlphabet,
    Fields,
    LongMessages,
    MessageFormat,
    ValidityFormat,
)

# Seconds without sends after throttling, with full jitter.
MIN_PAUSE = 0.5
MAX_PAUSE = 10.0
PART_RETRY_DELAY = 0.2  # seconds before the next part of a started message is retried

_UNREADABLE = AccountAlert("receipt", "unreadable", AlertKind.WARNING)

PartKey = tuple[str, int, int]  # our attempt id, the part's number, the total


class Smpp(HostedProvider):
    name = "smpp"
    channel = "sms"
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
        alphabet: str = DefaultAlphabet.GSM,
        long: str = LongMessages.UDH,
        validity: str = ValidityFormat.RELATIVE,
        message_ids: str = "auto",
        statuses: Mapping[str, str] | None = None,
        receipt_states: Mapping[str, str] | None = None,
        barred_errors: Collection[str] = (),
        window: int = 10,
        enquire: float = 30.0,
        timeout: http.Timeout = (2.0, 8.0),
    ) -> None:
        self._peer = Peer(host, port, tls, system_id, password, system_type, ca_file)
        self._format = MessageFormat(
            source, source_ton, source_npi, dest_ton, dest_npi, alphabet, long, validity
        )
        self._statuses = command_status.parse_overrides(statuses or {})
        self.window = window
        self._enquire = enquire
        self._timeout = timeout
        self._id_format = ID_FORMATS[message_ids]
        self._receipt_format = ReceiptFormat(
            self._id_format, parse_states(receipt_states or {}), frozenset(barred_errors)
        )
        self._references = count(os.urandom(1)[0])
        self._throttles = 0  # number of throttlings in a row
        self._paused_until = 0.0
        self._bind: Bind | None = None

    def start(self, *, store: StoreEvents, on_open: Callable[[], None]) -> None:
        self._receipts = ReceiptQueue(store)
        self._on_open = on_open
        self._bind = Bind(
            self._peer,
            window=self.window,
            timeout=self._timeout,
            enquire=self._enquire,
            deliver=self._deliver,
            on_open=on_open,
            receipts=self._receipts,
        )
        self._bind.start()

    def stop(self) -> None:
        if self._bind is not None:
            self._bind.stop()

    @property
    def is_open(self) -> bool:
        is_bound = self._bind is not None and self._bind.is_open
        return is_bound and time.monotonic() >= self._paused_until

    def details(self) -> Mapping[str, int]:
        bind = self._bind
        return {
            "bound": int(bind is not None and bind.is_open),
            "unanswered": bind.unanswered if bind else 0,
            "window": self.window,
        }

    def send(self, message: Outgoing) -> Accepted:
        """Sends a concatenated message part by part.

        Once a part is accepted the message is never restarted, even if the rest fail.
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
        parts = self._format.submissions(message, next(self._references))
        accepted: list[str] = []
        for number, fields in enumerate(parts, start=1):
            part = (message.ref, number, len(parts))
            try:
                accepted.append(await self._submit(bind, until, part, fields))
            except SendError as error:
                if not accepted:
                    raise
                raise _unfinished_error(error, part) from None
        # Not the id of a part: a receipt for one part must not count for all.
        return Accepted("+".join(filter(None, accepted))[:200] or None)

    async def _submit(self, bind: Bind, until: float, part: PartKey, fields: Fields) -> str:
        """Submits a part, and retries it unless it is the first; returns the part's id."""
        _ref, number, _total = part
        while True:
            try:
                return await self._submit_once(bind, until, part, fields)
            except TransientError:
                if number == 1 or time.monotonic() + PART_RETRY_DELAY > until:
                    raise
                await asyncio.sleep(PART_RETRY_DELAY)

    async def _submit_once(self, bind: Bind, until: float, part: PartKey, fields: Fields) -> str:
        try:
            response = await bind.submit(until, partial(self._handle_late_response, part), **fields)
        except NotBoundError:
            raise _not_bound() from None
        except (LostError, TimeoutError, MalformedError) as error:
            raise AmbiguousError("no_answer", type(error).__name__) from None
        if response.status:
            raise self._refusal(response)
        self._throttles = 0
        return self._accept_part(response, part)

    def _refusal(self, response: Pdu) -> SendError:
        error = command_status.refusal(response.status, self._statuses)
        if isinstance(error, ThrottledError) and error.account:
            error.retry_after = self._pause()
        return error

    def _pause(self) -> float:
        """Stops claiming for a while, longer after each throttling in a row.

        The refusals of one window count once.
        """
        now = time.monotonic()
        if now >= self._paused_until:
            self._throttles += 1
            longest = min(MAX_PAUSE, MIN_PAUSE * 2.0 ** min(self._throttles - 1, 10))
            self._paused_until = now + random.uniform(0, longest)  # noqa: S311 - not a secret
            asyncio.get_running_loop().call_at(self._paused_until, self._on_open)
        return self._paused_until - now

    def _accept_part(self, response: Pdu, part: PartKey) -> str:
        ref, number, total = part
        message_id = self._id_format.from_response(receipts.text(response.fields.get("message_id")))
        if total > 1 and message_id:
            accepted = Part(ref, number, total, message_id)
            self._receipts.put(InboundEvents(b"", parts=[accepted]))
        return message_id

    def _handle_late_response(self, part: PartKey, response: Pdu) -> None:
        """Applies a response that came after its timeout."""
        ref, number, total = part
        if not response.status:
            message_id = self._accept_part(response, part)
            if total == 1:
                receipt = Receipt(message_id or None, ref, ReceiptState.SENT, "submit_sm_resp")
                self._receipts.put(InboundEvents(b"", receipts=[receipt]))
        elif number == 1:  # the message was not started
            error = command_status.refusal(response.status, self._statuses)
            state = _state_of(error)
            receipt = Receipt(None, ref, state, "submit_sm_resp", None, error.code, error.detail)
            self._receipts.put(InboundEvents(b"", receipts=[receipt]))

    def _deliver(self, session: Session, request: Pdu) -> None:
        """Queues a receipt or reply, and responds once it is stored: the centre repeats others."""
        if self._receipts.is_full:
            session.respond(request, command_status.RETRY_LATER)
            return
        if not request.is_readable:
            self._receipts.put(InboundEvents(b"", alerts=[_UNREADABLE]))
            session.respond(request, command_status.RETRY_LATER)
            return
        events = receipts.read(request, self._receipt_format)
        if events is None:
            session.respond(request)
            return
        self._receipts.put(
            events,
            lambda is_stored: session.respond(
                request, 0 if is_stored else command_status.RETRY_LATER
            ),
        )


def _not_bound() -> TransientError:
    return TransientError("not_bound", "no bind with the centre, or no place in its window")


def _unfinished_error(error: SendError, part: PartKey) -> AmbiguousError:
    """The error of a message whose later part failed: a retry would repeat the first parts."""
    _ref, number, total = part
    detail = f"{number - 1} of {total} parts were taken; the next: {error.code}"
    return AmbiguousError("unfinished", detail)


def _state_of(error: SendError) -> ReceiptState:
    if isinstance(error, BarredError):
        return ReceiptState.BARRED
    return ReceiptState.UNREACHABLE if isinstance(error, UnreachableError) else ReceiptState.FAILED
