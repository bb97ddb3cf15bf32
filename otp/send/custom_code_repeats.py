"""Repeated sends of a custom code: the same phone, purpose, code and reference within the code's
life are one message, however many sends there are and however close together.

Repeats come from systems without Idempotency-Key, such as identity servers whose webhook timed out.
The verification is looked up by the MAC of its code. Not a repeat:
- a request for a channel that has not carried the code, unless the code was entered;
- a request made a cool-down after a failed message, because the person, or a server that retries,
  would otherwise get the same failure until the code expires.
"""

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple, Protocol, TypeVar
from uuid import UUID, uuid4

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from accounts.keys.principal import Principal
from api import idempotency
from api.rate_limit import count_in_postgres
from catalogue.errors import DomainError, Error
from channels.accept import send_limits
from channels.accept.acceptance import Sender
from channels.accept.outcome import raise_if_failed
from channels.models import Message
from channels.routing.channel_plan import SendRequest
from channels.routing.company_policy import RequestedOrder
from otp import codes, sql
from otp.models import Verification
from otp.send.tried_channels import channels_of
from storage import advisory_locks
from storage import atomic_limits as counters
from storage.atomic_limits import LimiterDownError, Window
from storage.statements import sql_files
from storage.statements.json_rows import array_text
from storage.statements.named_rows import fetch_one

_SQL = sql_files.read_several("otp/send/custom_code_repeats.sql")

WAIT = 3.0  # seconds; longer than the statement of the first send takes
PAUSE = 0.05


class CustomCodeRequest(SendRequest, Protocol):
    @property
    def order(self) -> RequestedOrder: ...
    @property
    def reference(self) -> str: ...
    @property
    def custom_code(self) -> str | None: ...


class RepeatedError(DomainError):
    """The first send of this code has committed meanwhile."""

    def __init__(self) -> None:
        super().__init__(Error.REQUEST_IN_PROGRESS, retry_after=1)


Sent = TypeVar("Sent")


def once(
    sender: Sender,
    request: CustomCodeRequest,
    send: Callable[[Sender], Sent],
    answer: Callable[[Message], Sent],
) -> Sent:
    """Returns the result of `send` for the first send, and that of `answer` for its repeats.

    A repeat that arrives while the first send is being written waits for it.
    """
    with guess(sender.principal, request):
        return _send_or_answer(sender, request, send, answer)


@contextmanager
def guess(principal: Principal, request: CustomCodeRequest) -> Iterator[None]:
    """Wraps each answer that reveals whether the request's code is the live code of its phone: a
    repeat is answered, another code is refused. Refusals are limited like wrong codes in a check;
    beyond the limit too_many_attempts is raised, even for the right code. Parallel requests with
    the same code count once, because together they reveal one code.
    """
    owner = f"{principal.company_id}:{principal.mode}:{counters.hashed(request.phone)}"
    windows = [
        Window(f"own-code:{seconds}:{owner}", limit, seconds)
        for limit, seconds in settings.WRONG_CODE_LIMITS
    ]
    running = f"own-code:{owner}:{_mac(principal, request).hex()[:24]}"
    give_back, is_guess = _take(windows, running), True
    try:
        yield
        is_guess = False
    except DomainError:
        is_guess = _has_live_one(principal, request)
        raise
    finally:
        give_back([] if is_guess else windows)


def _take(windows: Sequence[Window], running: str) -> Callable[[Sequence[Window]], object]:
    """Counts once in each window; returns a function that takes back
    the counts of given windows.
    """
    holder = f"{uuid4().hex}:"
    try:
        counted = counters.acquire(
            windows, cool_down=running, seconds=counters.DUPLICATE_SECONDS, holder=holder
        )
    except LimiterDownError:
        return _take_in_postgres(windows)
    if counted.verdict == counters.COOLING_DOWN:
        return lambda _windows: None
    if counted.verdict != counters.GRANTED:
        raise DomainError(Error.TOO_MANY_ATTEMPTS, retry_after=counted.wait)
    return partial(counters.release, cool_down=running, holder=holder)


def _take_in_postgres(windows: Sequence[Window]) -> Callable[[Sequence[Window]], object]:
    """The windows here begin with the clock's, and every running call occupies a slot."""
    at = int(time.time())

    def count(window: Window, places: int = 1) -> bool:
        number = at // window.seconds
        end = datetime.fromtimestamp((number + 1) * window.seconds, UTC)
        key = f"{window.key}:{number}"
        return count_in_postgres(key, most=window.limit, end=end, count=places)

    for window in windows:
        if not count(window):
            wait = window.seconds - at % window.seconds
            raise DomainError(Error.TOO_MANY_ATTEMPTS, retry_after=wait)
    return lambda taken: [count(window, -1) for window in taken]


def _has_live_one(principal: Principal, request: CustomCodeRequest) -> bool:
    return Verification.objects.filter(
        company_id=principal.company_id,
        mode=principal.mode,
        phone=request.phone,
        purpose=request.purpose,
        is_custom=True,
        superseded_at=None,
        expires_at__gt=timezone.now(),
    ).exists()


def _send_or_answer(
    sender: Sender,
    request: CustomCodeRequest,
    send: Callable[[Sender], Sent],
    answer: Callable[[Message], Sent],
) -> Sent:
    give_up_at = time.monotonic() + WAIT
    while True:
        message = find(sender.principal, request)
        if message is not None:
            _store_key(sender, message)
            raise_if_failed(message.pk, message.state, message.channel, message.error)
            return answer(message)
        try:
            return send(replace(sender, own_key_hash=_hash(sender.principal, request)))
        except DomainError as error:
            # Without Redis only the cool-down detects the first send, after its commit.
            if error.error not in HELD_BACK or time.monotonic() > give_up_at:
                raise
            if error.error is not Error.REQUEST_IN_PROGRESS and not find(sender.principal, request):
                raise
        connection.close()  # nothing is held while others write
        time.sleep(PAUSE)


HELD_BACK = {Error.REQUEST_IN_PROGRESS, Error.RESEND_TOO_SOON, Error.SEND_LIMIT}


class _Repeated(NamedTuple):
    message_id: UUID
    verification_id: UUID
    is_entered: bool


def find(principal: Principal, request: CustomCodeRequest) -> Message | None:
    """Returns the message that the request would repeat."""
    params = codes.owner(principal, request.phone, request.purpose)
    params |= {
        "macs": macs(principal, request),
        "reference": request.reference,
        "cool_down": send_limits.cool_down(principal.own_limits),
    }
    with connection.cursor() as cursor:
        cursor.execute(sql.in_live_months(_SQL["repeated_message"]), params)
        row = fetch_one(cursor, _Repeated)
    if row is None:
        return None
    channels = {request.channel} if request.channel else set(request.order.channels)
    if channels and not row.is_entered and not channels & channels_of(row.verification_id):
        return None
    return Message.objects.get(pk=row.message_id)


def macs(principal: Principal, request: CustomCodeRequest) -> str:
    """The MACs of the code under every known key, as an array."""
    owner = codes.owner(principal, request.phone, request.purpose)
    return array_text(codes.candidate_macs(**owner, code=request.custom_code or ""))


def lock(principal: Principal, request: CustomCodeRequest) -> None:
    """Serialises sends of custom codes to one phone in the transaction of the send. Raises
    RepeatedError if the send before had the same code.
    """
    name = f"custom code:{principal.company_id}:{principal.mode}:{request.phone}:{request.purpose}"
    number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)
    advisory_locks.lock(number)
    if find(principal, request) is not None:
        raise RepeatedError


def _hash(principal: Principal, request: CustomCodeRequest) -> str:
    """The key of a parallel repeat in the counters. Without the secret key nobody can guess the
    code by it.

    The hash covers the newest message to the phone: a code that is sent again after it was canceled
    or expired does not repeat a running send, and waits for the cool-down like any other.
    """
    with connection.cursor() as cursor:
        owner = codes.owner(principal, request.phone, request.purpose)
        cursor.execute(sql.in_live_months(_SQL["newest_message"]), owner)
        row = cursor.fetchone()
    newest = row[0].bytes if row else b""
    seed = _mac(principal, request) + newest + request.reference.encode()
    return hashlib.sha256(seed).hexdigest()[:24]


def _mac(principal: Principal, request: CustomCodeRequest) -> bytes:
    owner = codes.owner(principal, request.phone, request.purpose)
    return codes.mac(key_id=codes.current_key(), code=request.custom_code or "", **owner)


def _store_key(sender: Sender, message: Message) -> None:
    """Stores the Idempotency-Key of a repeat, so that it too is answered
    with this message for a day.
    """
    if sender.idempotency_key is None:
        return
    try:
        with transaction.atomic():
            idempotency.insert(sender.idempotency_key, message.pk)
    except IntegrityError:
        return  # it is stored already
