"""Handles a server's call: authenticates the caller, and sends the message."""

import time
from datetime import timedelta

from django.conf import settings
from django.db import IntegrityError
from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy as _

from accounts.keys.principal import Principal, is_within
from api import idempotency
from api.idempotency import IdempotencyKey, MissingResponse
from api.request_fields import RequestFields
from catalogue import custom_codes
from catalogue.errors import DomainError, Error
from catalogue.languages import tags
from channels import phone_numbers
from channels.accept.acceptance import Sender
from channels.accept.outcome import SendOutcome, WaitForFirstSend, raise_if_failed
from channels.accept.send_limits import cool_down
from channels.models import Message
from channels.routing.company_policy import RequestedOrder, locale_for
from channels.web.fields import DEFAULT_PURPOSE
from identity_hooks import hooks
from identity_hooks.hook_call import (
    CallRefusedError,
    HookCall,
    NothingToSendError,
    WantedMessage,
    unreadable,
)
from identity_hooks.kind import Kind
from identity_hooks.models import Hook
from links.api.parsing import new_link
from links.make.new_link import SLUG_LENGTH_IN_MESSAGES
from links.make.send import LinkSendRequest, send_link
from otp.protection.requesters import Requester, hashed, network_of
from otp.send.code_request import CodeSendRequest
from otp.send.send import send_code
from parsing.characters import is_line

# Seconds from a call's arrival for the vendor's response: a server waits 2.5 for ours.
WAIT = 2.0
USE_INTERVAL = timedelta(minutes=1)  # between writes of `last_used_at`
LIFETIMES = (60, 900)  # seconds
PURPOSE_LENGTH = 64
_SALT = "identity_hooks.repeats"

CALLER_REFUSALS = {"bad_signature", "address_not_allowed"}
NOT_SIGNED = _("The signature or the secret is wrong, or there is no such connection")


def find(kind: str, url_id: str) -> Hook | None:
    """The active hook of a call; None if it is unknown or revoked."""
    rows = Hook.objects.active().select_related("company")
    return rows.filter(kind=kind, url_id=url_id).first()


def refuse_caller(reason: str) -> CallRefusedError:
    """The error for every fault of a caller; only the company's log shows `reason`."""
    return CallRefusedError(reason, Error.INVALID_API_KEY, NOT_SIGNED)


def check_caller(hook: Hook | None, kind: Kind, call: HookCall) -> None:
    """Checks everything that needs no body; raises CallRefusedError."""
    if hook is None:
        raise refuse_caller("no_such_hook")
    if hook.allowed_ips and not is_within(hook.allowed_ips, call.ip):
        raise refuse_caller("address_not_allowed")
    if kind.is_checked_by_headers:
        check_signature(hook, kind, call)


def check_signature(hook: Hook, kind: Kind, call: HookCall) -> None:
    options = hooks.options_of(hook)
    secrets = hooks.usable_secrets(hook)
    if not any(kind.is_authentic(call, secret, options) for secret in secrets):
        raise refuse_caller("bad_signature")


def record_use(hook: Hook) -> None:
    rows = Hook.objects.filter(pk=hook.pk)
    long_ago = Q(last_used_at=None) | Q(last_used_at__lt=timezone.now() - USE_INTERVAL)
    rows.filter(long_ago).update(last_used_at=timezone.now())


def send(
    hook: Hook, principal: Principal, message: WantedMessage, *, at: float, request_id: str
) -> SendOutcome:
    """Sends the code or the link; a repeat returns the outcome of the first message.

    `at` is the call's arrival in Unix seconds: its vendor's response is awaited until WAIT later.
    Raises NothingToSendError if the server made the code longer ago than it is valid, or as far
    ahead of our clock; DomainError for a refusal.
    """
    lifetime = message.lifetime or settings.CODE_LIFETIME
    if message.sent_at is not None and abs(at - message.sent_at) > lifetime:
        raise NothingToSendError("stale")
    number = phone_numbers.normalise(message.phone, principal.country)
    sender = Sender(principal, request_id, answer_by=time.monotonic() + WAIT - (time.time() - at))
    if message.link:
        return _send_link(hook, sender, number, message)
    return send_code(sender=sender, request=code_request(hook, principal, number, message)).outcome


def code_request(
    hook: Hook, principal: Principal, number: str, message: WantedMessage
) -> CodeSendRequest:
    if not custom_codes.is_well_formed(message.code):
        raise unreadable("bad_code" if message.code else "no_code")
    purpose = hook.purpose or message.purpose[:PURPOSE_LENGTH] or DEFAULT_PURPOSE
    if not is_line(purpose):
        raise unreadable("bad_purpose")
    return CodeSendRequest(
        phone=number,
        purpose=purpose,
        locale=_locale(principal, number, purpose, message.locale),
        channel=None,
        order=RequestedOrder(tuple(hook.channels)),
        link=None,
        requester=Requester(ip=_hashed_ip(principal, message.ip)),
        custom_code=message.code,
        lifetime=_lifetime(message.lifetime),
        reference=hook.reference,
        door=hook.kind,
    )


def _locale(principal: Principal, number: str, purpose: str, tag: str) -> str:
    return tags.canonical(tag) or locale_for(principal, number, purpose)


def _hashed_ip(principal: Principal, ip: str) -> str:
    network = network_of(ip) if ip else ""
    return hashed(principal.company_id, "ip", network or "")


def _lifetime(seconds: float | None) -> int | None:
    if seconds is None:
        return None
    shortest, longest = LIFETIMES
    return int(min(max(seconds, shortest), longest))


def _send_link(hook: Hook, sender: Sender, number: str, message: WantedMessage) -> SendOutcome:
    principal = sender.principal
    fields = RequestFields({"url": message.link})
    link = new_link(fields, principal, length=SLUG_LENGTH_IN_MESSAGES)
    fields.check()
    assert link is not None  # noqa: S101 - `check` has raised otherwise
    locale = _locale(principal, number, "", message.locale)
    request = LinkSendRequest(number, locale, None, "", link, door=hook.kind)
    order = RequestedOrder(tuple(hook.channels))
    key = _link_key(hook, principal, number, message.link)
    wait = WaitForFirstSend(sender.wait_seconds)
    while not (outcome := _outcome_or_forget(key, principal)):
        try:
            keyed = _with_key(sender, key)
            return send_link(sender=keyed, request=request, order=order).outcome
        except (DomainError, IntegrityError) as error:
            if outcome := _outcome_or_forget(key, principal):  # the same call was faster
                return outcome
            is_running = getattr(error, "error", None) is Error.REQUEST_IN_PROGRESS
            if not is_running or wait.has_ended:
                raise
        wait.pause()
    return outcome


def _with_key(sender: Sender, key: IdempotencyKey) -> Sender:
    return Sender(sender.principal, sender.request_id, key, answer_by=sender.answer_by)


def _link_key(hook: Hook, principal: Principal, number: str, link: str) -> IdempotencyKey:
    digest = salted_hmac(_SALT, f"{number}\n{link}", algorithm="sha256")
    return IdempotencyKey(
        principal.company_id,
        principal.mode,
        f"/hooks/{hook.pk}",
        digest.hexdigest(),
        digest.digest(),
    )


def _outcome_or_forget(key: IdempotencyKey, principal: Principal) -> SendOutcome | None:
    """The outcome of the message sent under this key; None if the link should be sent.

    Raises AfterEffectError if the message failed. A failed message whose cool-down has ended is
    forgotten, so that the link can be sent again.
    """
    stored = idempotency.find_response(key)
    if not isinstance(stored, MissingResponse) or stored.subject_id is None:
        return None
    message = Message.objects.get(pk=stored.subject_id)
    if _may_be_sent_again(message, principal):
        idempotency.forget(key, message.pk)
        return None
    raise_if_failed(message.pk, message.state, message.channel, message.error)
    return SendOutcome.of(message)


def _may_be_sent_again(message: Message, principal: Principal) -> bool:
    age = timezone.now() - message.created_at
    return message.state in Message.FAILED_STATES and age.total_seconds() > cool_down(
        principal.own_limits
    )
