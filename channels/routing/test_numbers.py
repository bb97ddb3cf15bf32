"""Outcomes that a test key's number scripts before acceptance.

`channels.providers.scripted` plays the outcomes after it.
"""

from typing import Any

from django.conf import settings

from accounts.keys.api_keys import Fallback, Principal
from channels.phone_numbers import country_of
from channels.providers import scripted
from channels.providers.base import Channel
from channels.routing import channel_choice
from config.errors import DomainError, Error, Words

REFUSED_AT_ONCE = {
    "0001": Error.INVALID_PHONE,
    "0002": Error.INSUFFICIENT_TOKENS,
    "0005": Error.RESEND_TOO_SOON,
    "0011": Error.SEND_LIMIT,
    "0012": Error.TOO_MANY_ATTEMPTS,
    "0013": Error.CHANNEL_UNAVAILABLE,
    "0014": Error.COUNTRY_NOT_ALLOWED,
}
RETRY_AFTER = {  # seconds: the shortest window of each limit
    Error.RESEND_TOO_SOON: settings.COOL_DOWN,
    Error.SEND_LIMIT: settings.CODE_LIMITS[0][1],
    Error.TOO_MANY_ATTEMPTS: settings.WRONG_CODE_LIMITS[0][1],
}
EXTRA_FIELDS: dict[Error, dict[str, Any]] = {  # added to code and message, as for a live key
    Error.INSUFFICIENT_TOKENS: {"required": 1, "available": 0},
    Error.SEND_LIMIT: {"limit": {"kind": "phone"}},
}
EXPIRED_CODE = "0004"
QUEUED = scripted.QUEUED
NO_MORE_GUESSES = "0012"

# For people: what the last four digits script, and the error they answer with, if any.
OUTCOMES: dict[str, tuple[Words, Error | None]] = {
    "0000": (("доставлено сразу", "delivered at once"), None),
    "0001": (("неверный номер", "an invalid number"), Error.INVALID_PHONE),
    "0002": (("не хватает токенов", "too few tokens"), Error.INSUFFICIENT_TOKENS),
    scripted.UNREACHABLE: (
        ("получателя нет в канале", "the recipient is not on the channel"),
        Error.RECIPIENT_UNREACHABLE,
    ),
    EXPIRED_CODE: (
        ("доставлено, но код уже истёк", "delivered, but the code has already expired"),
        None,
    ),
    "0005": (("отправлять ещё рано", "too soon to send again"), Error.RESEND_TOO_SOON),
    scripted.LATE: (
        (
            f"доставлено через {scripted.LATE_SECONDS} секунд",
            f"delivered after {scripted.LATE_SECONDS} seconds",
        ),
        None,
    ),
    scripted.NEVER: (
        ("не доставлено: выйдет время", "never delivered: it expires"),
        None,
    ),
    scripted.REFUSED: (
        ("канал отказался доставлять", "the channel refuses"),
        Error.DELIVERY_FAILED,
    ),
    scripted.FALLS_BACK: (
        ("ушло следующим каналом", "falls back to the next channel"),
        None,
    ),
    QUEUED: (
        (
            f"ждёт в очереди {scripted.QUEUED_SECONDS} секунд, затем доставлено",
            f"stays queued for {scripted.QUEUED_SECONDS} seconds, then delivered",
        ),
        None,
    ),
    "0011": (("исчерпан лимит отправок", "the sending limit is reached"), Error.SEND_LIMIT),
    NO_MORE_GUESSES: (
        (
            "слишком много попыток, и при отправке, и при проверке",
            "too many attempts, of a send and of a verify alike",
        ),
        Error.TOO_MANY_ATTEMPTS,
    ),
    "0013": (("канал недоступен", "the channel is not available"), Error.CHANNEL_UNAVAILABLE),
    "0014": (("страна не разрешена", "the country is not allowed"), Error.COUNTRY_NOT_ALLOWED),
}


def refuse_scripted(principal: Principal, phone: str) -> None:
    error = REFUSED_AT_ONCE.get(phone[-4:]) if principal.is_test else None
    if error is None:
        return
    extra = EXTRA_FIELDS.get(error, {})
    if error is Error.COUNTRY_NOT_ALLOWED:
        extra = {"country": country_of(phone)}
    raise DomainError(error, retry_after=RETRY_AFTER.get(error), **extra)


def refuse_scripted_guess(principal: Principal, phone: str) -> None:
    if is_scripted(principal, phone, NO_MORE_GUESSES):
        raise DomainError(Error.TOO_MANY_ATTEMPTS, retry_after=RETRY_AFTER[Error.TOO_MANY_ATTEMPTS])


def is_scripted(principal: Principal, phone: str, script: str) -> bool:
    return principal.is_test and phone.endswith(script)


def fallback(
    principal: Principal, phone: str, *, named: str | None, channel: Channel
) -> Fallback | None:
    """The company's chain, unless the request names a channel.

    A number that scripts a fallback always has one.
    """
    own = principal.fallback if named is None else None
    if not is_scripted(principal, phone, scripted.FALLS_BACK):
        return own
    if own and channel_choice.channels_after(channel, own):
        return own
    others = [
        other
        for other in channel_choice.channel_order(principal.default_channel)
        if other is not channel
    ]
    return Fallback((channel.value, others[0].value))
