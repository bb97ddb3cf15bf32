"""Outcomes that a test key's number scripts before acceptance.

`channels.providers.scripted` plays the outcomes after it.
"""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.keys.principal import Fallback, Principal
from catalogue.channels import Channel
from catalogue.errors import DomainError, Error
from catalogue.texts import StrOrPromise
from channels.phone_numbers import NOT_A_PHONE, country_of, is_landline
from channels.providers import scripted
from channels.routing import company_policy

# Errors simulated for codes only.
CODE_ONLY_ERRORS = {Error.RESEND_TOO_SOON, Error.TOO_MANY_ATTEMPTS}
RETRY_AFTER = {  # seconds: the shortest window of each limit
    Error.RESEND_TOO_SOON: settings.COOL_DOWN,
    Error.SEND_LIMIT: settings.CODE_LIMITS[0][1],
    Error.TOO_MANY_ATTEMPTS: settings.WRONG_CODE_LIMITS[0][1],
}
EXTRA_FIELDS: dict[Error, dict[str, Any]] = {  # added to code and message, like for a live key
    Error.INSUFFICIENT_TOKENS: {"required": 1, "available": 0},
    Error.SEND_LIMIT: {"limit": {"kind": "phone"}},
}
INVALID = "0001"
EXPIRED_CODE = "0004"
QUEUED = scripted.QUEUED
NO_MORE_GUESSES = "0012"
# The guard's steps, simulated by `otp.protection.send_check`.
CHALLENGED = "0015"
HELD_BACK = "0016"

# Descriptions: the script of the last four digits, and the error of the response, if any.
OUTCOMES: dict[str, tuple[StrOrPromise, Error | None]] = {
    "0000": (_("delivered at once"), None),
    INVALID: (_("an invalid number"), Error.INVALID_PHONE),
    "0002": (_("too few tokens"), Error.INSUFFICIENT_TOKENS),
    scripted.UNREACHABLE: (_("the recipient is not on the channel"), Error.RECIPIENT_UNREACHABLE),
    EXPIRED_CODE: (_("delivered, but the code has already expired"), None),
    "0005": (_("too soon to send again"), Error.RESEND_TOO_SOON),
    scripted.LATE: (
        format_lazy(_("delivered after {seconds} seconds"), seconds=scripted.LATE_SECONDS),
        None,
    ),
    scripted.NEVER: (_("never delivered: it expires"), None),
    scripted.REFUSED: (_("the channel refuses"), Error.DELIVERY_FAILED),
    scripted.FALLS_BACK: (_("falls back to the next channel"), None),
    QUEUED: (
        format_lazy(
            _("stays queued for {seconds} seconds, then delivered"), seconds=scripted.QUEUED_SECONDS
        ),
        None,
    ),
    "0011": (_("the sending limit is reached"), Error.SEND_LIMIT),
    NO_MORE_GUESSES: (
        _("too many attempts, of a send and of a verify alike"),
        Error.TOO_MANY_ATTEMPTS,
    ),
    "0013": (_("the channel is not available"), Error.CHANNEL_UNAVAILABLE),
    "0014": (_("the country is not allowed"), Error.COUNTRY_NOT_ALLOWED),
    CHALLENGED: (
        _("a proof of work is needed, with which the code is delivered"),
        Error.CHALLENGE_REQUIRED,
    ),
    HELD_BACK: (_("held back by the protection against SMS pumping"), Error.SEND_LIMIT),
}
_AFTER_ACCEPTANCE = {scripted.UNREACHABLE, scripted.REFUSED, CHALLENGED, HELD_BACK}
REFUSED_AT_ONCE = {
    digits: error
    for digits, (_words, error) in OUTCOMES.items()
    if error and digits not in _AFTER_ACCEPTANCE
}


def refuse_scripted(principal: Principal, phone: str, kind: str) -> None:
    error = REFUSED_AT_ONCE.get(phone[-4:]) if principal.is_test else None
    if error is None or (error in CODE_ONLY_ERRORS and kind != "code"):
        return
    extra = EXTRA_FIELDS.get(error, {})
    if error is Error.COUNTRY_NOT_ALLOWED:
        extra = {"country": country_of(phone)}
    if error is Error.INVALID_PHONE:
        raise DomainError(error, errors={"phone": [NOT_A_PHONE]})
    raise DomainError(error, retry_after=RETRY_AFTER.get(error), **extra)


def refuse_scripted_number(principal: Principal, phone: str) -> None:
    """Refuses the invalid number in calls that only read it."""
    if is_scripted(principal, phone, INVALID):
        raise DomainError(Error.INVALID_PHONE, errors={"phone": [NOT_A_PHONE]})


def refuse_scripted_guess(principal: Principal, phone: str) -> None:
    if is_scripted(principal, phone, NO_MORE_GUESSES):
        raise DomainError(Error.TOO_MANY_ATTEMPTS, retry_after=RETRY_AFTER[Error.TOO_MANY_ATTEMPTS])


def is_scripted(principal: Principal, phone: str, script: str) -> bool:
    return principal.is_test and phone.endswith(script)


def fallback(
    principal: Principal,
    phone: str,
    *,
    chain: Fallback | None,
    channel: Channel,
    order: Sequence[Channel],
) -> Fallback | None:
    """The chain of a send by a test key, which `chain` or the number itself gives.

    A number that scripts a chain always has one, unless it is a landline and no other channel of
    the order reaches landlines.
    """
    if not is_scripted(principal, phone, scripted.FALLS_BACK):
        return chain
    if chain and company_policy.channels_after(channel, chain):
        return chain
    every = order if is_landline(phone) else company_policy.channel_order(principal.default_channel)
    other = next((candidate for candidate in every if candidate is not channel), None)
    return Fallback((channel.name, other.name)) if other else chain
