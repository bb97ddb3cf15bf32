"""Sends a live code by the next channel now: "send it by SMS instead".

A message with a fallback chain takes its next step, as if its patience had ended. Without a chain,
a new message carries the code by the first untried channel of the company's order. A new message is
also sent if a vendor may have the first one: the tokens of the first stay held, and each message is
charged for its own delivery. Overlapping calls take one step: the person pressed a button several
times.
"""

from collections.abc import Set
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.keys.principal import Principal
from api import idempotency
from catalogue.channels import Channel
from catalogue.errors import DomainError, Error
from catalogue.ids import started_at
from channels.accept import acceptance
from channels.accept.acceptance import Sender
from channels.accept.outcome import WaitForFirstSend, is_response_known
from channels.lifecycle.snapshots import OPEN_MESSAGE, Decision, FallbackReason
from channels.models import FallbackEvent, Message
from channels.outcomes import transitions
from channels.phone_numbers import country_of, is_landline
from channels.routing import company_policy
from channels.routing.company_policy import RequestedOrder
from channels.routing.landlines import policy_for_landline
from channels.vendor_accounts import availability
from channels.waiting import wakeups
from links.make.new_link import NewLink
from links.models import Link
from otp import sealed_codes, verifications
from otp.check import check
from otp.check.check import RefusalState
from otp.models import Verification
from otp.protection.requesters import UNKNOWN, Requester
from otp.send.code_request import STORED_FIELDS, CodeSendRequest
from otp.send.custom_code import WAIT, store_key
from otp.send.send import SentCode, send_code, sent_code
from otp.send.tried_channels import channels_of
from otp.verifications import IN_STATE, State

CODE_IS_GONE = _(
    "Your code is no longer kept because its message has ended: send it again with `code` and "
    "`channel`"
)


NONE_LEFT = _(
    "No other channel is left: the code was sent by every channel that your policy and this "
    "number allow"
)


def send_by_next_channel(
    sender: Sender, verification_id: UUID, requester: Requester = UNKNOWN
) -> SentCode:
    """Sends a live code by the next channel.

    Raises channel_unavailable if no channel is left, and the refusals of a send.
    """
    verification = verifications.row_of(
        verifications.for_principal(sender.principal), verification_id
    )
    _require_live(sender.principal, verification_id)
    # Read before the steps of other calls: a channel that one takes later is refused by the lock.
    tried = channels_of(verification_id)
    return (
        _step_of_overlapping_call(sender, verification)
        or _take_next_step(sender, verification)
        or _send_by_untried(sender, verification, requester, tried)
    )


def _step_of_overlapping_call(sender: Sender, verification: Verification) -> SentCode | None:
    """The step of another call that had no response yet when this call began.

    None without one, and for a call with an Idempotency-Key, which identifies its repeats itself.
    As a response leaves a little later, and the clocks of two hosts differ, overlapping calls may
    still take two steps.
    """
    began_at = started_at(sender.request_id)
    if began_at is None or sender.idempotency_key is not None:
        return None
    newest, *earlier = _messages(verification)
    is_step = newest.channel not in {message.channel for message in earlier}
    # A message is as old as its transaction, which may have waited; its outcome is the response.
    responded_at = newest.sent_at or newest.finished_at or newest.created_at
    is_running = responded_at >= began_at or not is_response_known(newest)
    if earlier and is_step and is_running:
        return sent_code(newest)
    messages = [newest, *earlier]
    event = FallbackEvent.objects.filter(
        message__in=messages, reason=FallbackReason.REQUESTED, at__gte=began_at
    ).first()
    return _queued_code(event.message) if event else None


def _require_live(principal: Principal, verification_id: UUID, *, is_locked: bool = False) -> None:
    """Raises the refusal that a check would raise, unless the verification is live."""
    rows = Verification.objects.filter(pk=verification_id)
    live = rows.select_for_update(no_key=True) if is_locked else rows
    if live.filter(IN_STATE[State.PENDING]).first() is not None:
        return
    verification = rows.get()
    state = RefusalState(
        is_used=verification.verified_at is not None,
        is_expired=verification.expires_at <= timezone.now(),
        is_exhausted=verification.attempts >= verification.max_attempts,
        is_cancelled=verification.cancelled_at is not None,
        is_superseded=(verification.superseded_at or verification.expires_at)
        < verification.expires_at,
    )
    raise check.counted_refusal(principal, verification.phone, state)


def _messages(verification: Verification) -> list[Message]:
    """The messages of the code, newest first."""
    return list(
        Message.objects.filter(verifications.messages_with_codes([verification])).order_by("-id")
    )


def _take_next_step(sender: Sender, verification: Verification) -> SentCode | None:
    """Switches an open message of the code to its next channel; None if no step is left."""
    waiting = (row for row in _messages(verification) if row.state in OPEN_MESSAGE and row.chain)
    message = next(waiting, None)
    if message is None:
        return None
    with transaction.atomic(), connection.cursor() as cursor:
        _require_live(sender.principal, verification.pk, is_locked=True)
        decision = transitions.take_next_step(cursor, message.pk, message.hold)
        if decision is not None:
            _require_payment(sender.principal, message, decision)
            if sender.idempotency_key is not None:
                idempotency.insert(sender.idempotency_key, message.pk)
    if decision is None:
        return _step_of_faster_call(sender, message)
    transitions.announce([decision])
    wakeups.wake_workers()
    return _queued_code(message)


def _queued_code(message: Message) -> SentCode:
    """The response about a queued message: the vendor of the new channel is not called yet."""
    message.refresh_from_db()
    response = sent_code(message)
    return replace(response, outcome=replace(response.outcome, state=Message.State.QUEUED))


def _require_payment(principal: Principal, message: Message, decision: Decision) -> None:
    if decision.message.hold > message.hold:
        return
    price = decision.message.chain[0].price
    key = message.api_key  # whose limit the step counts against
    payer = replace(
        principal, key_id=key.pk if key else 0, day_limit=key.day_limit if key else None
    )
    refusal = acceptance.refusal_of_price(payer, message.phone, price)
    raise refusal or DomainError(Error.UNAVAILABLE, retry_after=1)


def _step_of_faster_call(sender: Sender, message: Message) -> SentCode | None:
    """The response to the later of two concurrent calls, about the step that the other took.

    It would otherwise take a second step, and so would its repeat, whose key is stored here.
    """
    hold = message.hold
    message.refresh_from_db()
    if message.hold <= hold:
        return None
    store_key(sender, message)
    return _queued_code(message)


def _send_by_untried(
    sender: Sender, verification: Verification, requester: Requester, tried: Set[str]
) -> SentCode:
    messages = _messages(verification)
    request = _request_like(messages[0], verification, requester)
    orders = (message.params["order"] for message in messages if "order" in message.params)
    order = RequestedOrder(tuple(next(orders, ())))
    channel = _next_channel(sender.principal, request, tried, order)
    try:
        return send_code(
            sender=sender,
            request=replace(request, channel=channel.name),
            only_verification_id=verification.pk,
        )
    except DomainError as error:
        if error.error is Error.CODE_EXPIRED:
            _require_live(sender.principal, verification.pk)
        message = None
        if error.error is Error.RESEND_TOO_SOON:
            message = _message_of_other_call(verification, channel.name)
        if message is None:
            raise
        store_key(sender, message)
        return sent_code(message)


def _request_like(
    message: Message, verification: Verification, requester: Requester
) -> CodeSendRequest:
    """A request that would have sent this message of the verification by any channel."""
    first_asked = message.params.get("sender", {})
    same_fields: dict[str, Any] = {
        name: message.params[name] for name in STORED_FIELDS if name in message.params
    }
    same_fields |= {field.name: text for field, text in message.stored_texts}
    return CodeSendRequest(
        phone=verification.phone,
        purpose=verification.purpose,
        locale=message.locale,
        channel=None,
        link=_link_like(message),
        requester=replace(
            requester,
            ip=requester.ip or first_asked.get("ip", ""),
            device=requester.device or first_asked.get("device", ""),
        ),
        binding=verification.binding,
        custom_code=_custom_code(verification) if verification.is_custom else None,
        **same_fields,
    )


def _link_like(message: Message) -> NewLink | None:
    """A link like the one in the message; None if it had none, or that one no longer works."""
    link = Link.objects.select_related("host").filter(pk=message.params.get("link")).first()
    return NewLink.like(link) if link and link.is_live else None


def _next_channel(
    principal: Principal, request: CodeSendRequest, tried: Set[str], order: RequestedOrder
) -> Channel:
    """The first untried channel of the requested order, or else of the company's order."""
    policy = company_policy.policy_for(principal, request.phone, request.purpose)
    max_cost = policy.next_max_cost
    policy = company_policy.with_requested_order(policy, order)
    if is_landline(request.phone):
        policy = policy_for_landline(
            principal.mode, policy, channel=request.channel, content=request.content
        )
    country = country_of(request.phone)
    for channel in policy.order:
        if (
            channel.name not in tried
            and company_policy.costs_at_most(channel, max_cost, country)
            and availability.has_account(channel, request.content, principal.mode, request.phone)
        ):
            return channel
    raise DomainError(Error.CHANNEL_UNAVAILABLE, message=NONE_LEFT)


def _message_of_other_call(verification: Verification, channel: str) -> Message | None:
    """The message that another call sent by the same channel, if any: it may be about to commit."""
    wait = WaitForFirstSend(WAIT)
    while not wait.has_ended:
        for message in _messages(verification):
            if message.channel == channel:
                return message
        wait.pause()
    return None


def _custom_code(verification: Verification) -> str:
    sealed = sealed_codes.find([row.pk for row in _messages(verification)])
    if not sealed:
        raise DomainError(Error.CHANNEL_UNAVAILABLE, message=CODE_IS_GONE)
    return next(iter(sealed.values())).open()
