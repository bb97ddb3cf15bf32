"""Sends custom codes, and recognises repeats of a send.

Sends with one phone, purpose, code and reference within the code's life are one message, even if
they are concurrent. Repeats come from systems without Idempotency-Key, such as identity servers
whose webhook timed out. The verification is looked up by the MAC of its code. Not a repeat:
- a request for another payment;
- a request for a channel that has not carried the code, unless the code was entered;
- a request made a cool-down after a message that failed or expired, or whose code wrong guesses
  used up: otherwise the same failure would last until the code expires;
- a request that `resends_custom_code`, a cool-down after any message, after one that failed or
  expired, or once the code was entered or used up: clients of other services ask again only when
  the person does. Its reference may differ.
"""

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple, TypedDict
from uuid import UUID, uuid4

import orjson
from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.keys.principal import Principal
from api import idempotency
from api.idempotency import IdempotencyKey
from catalogue.errors import DomainError, Error
from channels.accept import send_limits
from channels.accept.acceptance import Sender
from channels.models import Message
from otp import codes, sealed_codes, sql
from otp.check.check import seconds_until_send_allowed
from otp.models import Verification
from otp.send.code_request import CodeSendRequest
from otp.send.tried_channels import channels_of
from storage import advisory_locks
from storage import atomic_limits as counters
from storage.atomic_limits import LimiterDownError, Window
from storage.postgres_limits import count_in_postgres
from storage.statements import sql_files
from storage.statements.json_rows import array_text
from storage.statements.queries import fetch_value, select_one

_SQL = sql_files.read_several("otp/send/custom_code.sql")

WAIT = 3.0  # seconds; longer than the statement of the first send takes
REFUSALS_OF_REPEATS = {Error.REQUEST_IN_PROGRESS, Error.RESEND_TOO_SOON, Error.SEND_LIMIT}


class RepeatedError(DomainError):
    """The first send of this code has committed in the meantime."""

    def __init__(self) -> None:
        super().__init__(Error.REQUEST_IN_PROGRESS, retry_after=1)


class CustomCodeParams(TypedDict):
    """Parameters of `otp/send/send.sql`."""

    custom_macs: str
    sealed_key_id: str
    sealed: bytes
    length: int


class _RepeatedMessage(NamedTuple):
    message_id: UUID
    verification_id: UUID
    is_entered: bool


@dataclass(frozen=True, slots=True)
class CustomCodeSend:
    """A send whose code the company made itself."""

    principal: Principal
    request: CodeSendRequest
    code: str
    macs: Sequence[bytes]  # of the code under every known key; the first is the current one

    @classmethod
    def of(cls, principal: Principal, request: CodeSendRequest) -> "CustomCodeSend | None":
        """The send of a custom code; None if the code is to be derived."""
        code = request.custom_code
        if code is None:
            return None
        owner = codes.code_identity(principal, request.phone, request.purpose)
        return cls(principal, request, code, codes.candidate_macs(**owner, code=code))

    @contextmanager
    def counted_as_guess(self, key: IdempotencyKey | None = None) -> Iterator[bool]:
        """Counts the request as a guess if its response reveals that its code is not the live code.

        A repeat gets the earlier response, another code is refused. Refusals are limited like wrong
        codes in a check. Parallel requests with the same code count once, because together they
        reveal one code.

        Yields whether the code may be compared. Beyond the limit it may not: too_many_attempts is
        raised until the next code can be sent, even for the correct code, and for a stored `key`.
        Then the code goes out as a new one: a stranger who asks again and again must not keep the
        person from codes.
        """
        principal = self.principal
        owner = f"{principal.company_id}:{principal.mode}:{counters.hashed(self.request.phone)}"
        windows = [
            Window(f"own-code:{seconds}:{owner}", limit, seconds)
            for limit, seconds in settings.WRONG_CODE_LIMITS
        ]
        running = f"own-code:{owner}:{self.macs[0].hex()[:24]}"
        full = 0  # seconds until a window has a place again
        is_guess = True
        try:
            refund_windows = _take(windows, running)
        except DomainError as error:
            full = error.retry_after or 1
        if full:
            wait = seconds_until_send_allowed(principal, self.request.phone)
            if wait or (key is not None and idempotency.is_stored(key)):
                raise DomainError(Error.TOO_MANY_ATTEMPTS, retry_after=wait or full)
            yield False
            return
        try:
            yield True
            is_guess = False
        except DomainError:
            is_guess = self._has_live_code()
            raise
        finally:
            refund_windows([] if is_guess else windows)

    def as_new(self) -> "CustomCodeSend":
        """The same send, which is not compared with the live code."""
        return replace(self, request=replace(self.request, is_new=True))

    def find_repeated(self, sender: Sender) -> Message | None:
        """The message that the request repeats, whose key is stored; None if it repeats none."""
        message = self.find()
        if message is not None:
            store_key(sender, message)
        return message

    def may_be_repeat(self, error: Error) -> bool:
        """Whether the first send of this code may have caused the refusal, so that a repeat waits.

        Without Redis only the cool-down detects the other send, after its commit.
        """
        if error not in REFUSALS_OF_REPEATS:
            return False
        return error is Error.REQUEST_IN_PROGRESS or self.find() is not None

    def find(self) -> Message | None:
        """The message that the request would repeat; None if there is none, or it is a new code."""
        if self.request.is_new:
            return None
        channel = self.request.channel
        binding = self.request.binding
        channels = {channel} if channel else set(self.request.order.channels)
        params: dict[str, Any] = self._owner() | {
            "macs": self.macs_array,
            "binding": orjson.dumps(binding).decode() if binding else None,
            "channels": list(channels),
            "reference": self.request.reference,
            "cool_down": send_limits.cool_down(self.principal.own_limits),
            "resends_custom_code": self.request.resends_custom_code,
        }
        statement = sql.in_live_months(_SQL["repeated_message"])
        row = select_one(_RepeatedMessage, statement, params)
        if row is None:
            return None
        if channels and not row.is_entered and not channels & channels_of(row.verification_id):
            return None
        return Message.objects.get(pk=row.message_id)

    def with_repeat_key(self, sender: Sender) -> Sender:
        """The sender with the hash by which the counters detect a parallel repeat.

        Without the secret key nobody can guess the code by it. The hash covers the newest message
        to the phone: a send after the code was cancelled or expired repeats no running send, and
        waits for the cool-down.
        """
        newest_id = fetch_value(sql.in_live_months(_SQL["newest_message"]), self._owner())
        newest = newest_id.bytes if newest_id else b""
        seed = self.macs[0] + newest + self.request.reference.encode()
        return replace(sender, own_key_hash=hashlib.sha256(seed).hexdigest()[:24])

    @property
    def macs_array(self) -> str:
        """The MACs as a parameter of statements."""
        return array_text(self.macs)

    def params(self, message_id: UUID) -> CustomCodeParams:
        sealed = sealed_codes.seal(self.code, message_id)
        return {
            "custom_macs": self.macs_array,
            "sealed_key_id": sealed.key_id,
            "sealed": sealed.sealed,
            "length": len(self.code),
        }

    def lock(self) -> None:
        """Serialises sends of custom codes to one phone in the transaction of the send.

        Raises RepeatedError if the send before had the same code.
        """
        request = self.request
        key = f"{self.principal.company_id}:{self.principal.mode}"
        name = f"custom code:{key}:{request.phone}:{request.purpose}"
        number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)
        advisory_locks.lock(number)
        if self.find() is not None:
            raise RepeatedError

    def _owner(self) -> dict[str, Any]:
        return codes.code_identity(self.principal, self.request.phone, self.request.purpose)

    def _has_live_code(self) -> bool:
        return Verification.objects.filter(
            **self._owner(),
            is_custom=True,
            superseded_at=None,
            expires_at__gt=timezone.now(),
        ).exists()


def _take(windows: Sequence[Window], running: str) -> Callable[[Sequence[Window]], object]:
    """Counts once in each window; returns a function that uncounts the given windows."""
    holder = f"{uuid4().hex}:"
    try:
        counted = counters.acquire(
            windows, cool_down=running, seconds=counters.DUPLICATE_SECONDS, holder=holder
        )
    except LimiterDownError:
        return _take_in_postgres(windows)
    if counted.outcome == counters.COOLING_DOWN:
        return lambda _windows: None
    if counted.outcome != counters.GRANTED:
        raise DomainError(Error.TOO_MANY_ATTEMPTS, retry_after=counted.wait)
    return partial(counters.release, cool_down=running, holder=holder)


def _take_in_postgres(windows: Sequence[Window]) -> Callable[[Sequence[Window]], object]:
    """Counts like `_take`, in PostgreSQL.

    Its windows begin at multiples of their length, and every running call occupies a slot.
    """
    at = int(time.time())

    def count(window: Window, places: int = 1) -> bool:
        number = at // window.seconds
        end = datetime.fromtimestamp((number + 1) * window.seconds, UTC)
        key = f"{window.key}:{number}"
        return count_in_postgres(key, limit=window.limit, end=end, count=places)

    for window in windows:
        if not count(window):
            wait = window.seconds - at % window.seconds
            raise DomainError(Error.TOO_MANY_ATTEMPTS, retry_after=wait)
    return lambda taken: [count(window, -1) for window in taken]


def store_key(sender: Sender, message: Message) -> None:
    """Stores the Idempotency-Key of a repeat, which then gets this message's response for a day."""
    if sender.idempotency_key is None:
        return
    try:
        with transaction.atomic():
            idempotency.insert(sender.idempotency_key, message.pk)
    except IntegrityError:
        return  # it is stored already
