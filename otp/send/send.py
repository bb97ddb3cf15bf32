"""Sends a one-time code: accepts the request, writes the verification and its message.

A send is written alone, or in one statement with others that come together. The statement
(`otp/send/send.sql`) decides whether it is a resend of the live code.
"""

from dataclasses import dataclass, replace
from math import ceil
from uuid import UUID

from django.utils import timezone

from catalogue.errors import DomainError
from channels.accept import acceptance
from channels.accept.acceptance import NewMessage, Sender
from channels.accept.outcome import SendOutcome, WaitForFirstSend, raise_if_failed
from channels.models import Message
from channels.routing.channel_plan import plan_channels
from links.make.new_link import check_not_stopped
from otp.models import Verification
from otp.protection import send_check
from otp.send.code_request import CodeSendRequest
from otp.send.code_text import CodeText
from otp.send.code_writes import PreparedCodeSend
from otp.send.custom_code import WAIT, CustomCodeSend
from otp.send.tried_channels import UntriedChannels

RANDOM_BITS = 80  # of an id, after its time


@dataclass(frozen=True, slots=True)
class SentCode:
    """The response to the sender. Durations are in seconds."""

    outcome: SendOutcome
    expires_in: int
    attempts_left: int
    short_url: str | None
    verification_id: UUID
    is_repeat: bool = False  # nothing was sent: the message is an earlier one

    @property
    def is_resend(self) -> bool:
        """Whether the code was sent before.

        Ids begin with milliseconds: a resent code's id is older than its message's.
        """
        code = self.verification_id.int
        message = self.outcome.message_id.int
        return self.is_repeat or code >> RANDOM_BITS < message >> RANDOM_BITS


def send_code(
    *, sender: Sender, request: CodeSendRequest, only_verification_id: UUID | None = None
) -> SentCode:
    """Sends a code, or resends the live one; raises a DomainError before anything is spent.

    With `only_verification_id`, sends that verification's code by a channel that has not carried it
    yet, or nothing.
    """
    custom = CustomCodeSend.of(sender.principal, request)
    if custom is None:
        return _send(sender, request, only_verification_id)
    if only_verification_id is not None:  # the live code itself: no guess
        return _send_or_repeat(custom, sender, only_verification_id)
    with custom.counted_as_guess() as is_compared:
        if is_compared:
            return _send_or_repeat(custom, sender)
        new = custom.as_new()
        return _send(sender, new.request, None, new)


def _send_or_repeat(
    custom: CustomCodeSend, sender: Sender, only_verification_id: UUID | None = None
) -> SentCode:
    """Sends the code; a repeat waits for the first send and returns its response."""
    wait = WaitForFirstSend(WAIT)
    while (message := custom.find_repeated(sender)) is None:
        try:
            return _send(
                custom.with_repeat_key(sender), custom.request, only_verification_id, custom
            )
        except DomainError as error:
            if wait.has_ended or not custom.may_be_repeat(error.error):
                raise
        wait.pause()
    return replace(sent_code(message), is_repeat=True)


def _send(
    sender: Sender,
    request: CodeSendRequest,
    only_verification_id: UUID | None,
    custom: CustomCodeSend | None = None,
) -> SentCode:
    principal = sender.principal
    if request.link:
        check_not_stopped(principal)
    restricted = send_check.restriction_for(principal, request.phone, request.requester)
    is_without_sms = restricted is not None and restricted.is_without_sms
    plan = plan_channels(
        principal, request, kind="code", order=request.order, is_without_sms=is_without_sms
    )
    with send_check.enforced(plan, restricted) as allowed:
        link = request.link.for_channels(allowed.channel_names) if request.link else None
        text = CodeText(principal, request, link)
        plan = text.with_segments(allowed)
        # A named channel has a chain only with a test key's number.
        names = {plan.channel.name} if request.channel else plan.channel_names
        untried = UntriedChannels(principal, request, custom, names, only_verification_id)
        prepared = PreparedCodeSend(
            message=NewMessage("code", sender, request, plan),
            request=request,
            link=link,
            text=text,
            custom=custom,
            untried=untried if request.may_skip_cool_down else None,
        )
        code, outcome = acceptance.accept_and_wait(prepared)
    return SentCode(
        outcome=outcome,
        expires_in=_whole_seconds(code.expires_in),
        attempts_left=code.attempts_left,
        short_url=code.short_url,
        verification_id=code.verification_id,
    )


def sent_code(message: Message) -> SentCode:
    """The response for a message that was accepted before, read from the database.

    Raises AfterEffectError if it has failed.
    """
    raise_if_failed(message.pk, message.state, message.channel, message.error)
    verification = Verification.objects.get(pk=message.subject_id)
    # The time left is at most the code's life: another clock may have made the code.
    seconds = min(verification.expires_at - timezone.now(), verification.life).total_seconds()
    return SentCode(
        outcome=SendOutcome.of(message),
        expires_in=_whole_seconds(seconds),
        attempts_left=verification.max_attempts - verification.attempts,
        short_url=message.params.get("short_url"),
        verification_id=verification.pk,
    )


def _whole_seconds(seconds: float) -> int:
    return max(0, ceil(seconds))
