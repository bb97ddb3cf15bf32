"""What a test key's number scripts before anything is accepted.

The rest of the script is played by the `test` provider.
"""

from accounts.keys import Fallback, Principal
from channels import routing
from channels.providers import test
from channels.providers.base import Channel
from config.errors import DomainError, Error, Words

REFUSED_AT_ONCE = {
    "0001": Error.INVALID_PHONE,
    "0002": Error.INSUFFICIENT_TOKENS,
    "0005": Error.RESEND_TOO_SOON,
}
EXPIRED_CODE = "0004"

# For people: what each ending brings about, and the error it is answered with, if any.
OUTCOMES: dict[str, tuple[Words, Error | None]] = {
    "0000": (("доставлено сразу", "delivered at once"), None),
    "0001": (("неверный номер", "an invalid number"), Error.INVALID_PHONE),
    "0002": (("не хватает токенов", "too few tokens"), Error.INSUFFICIENT_TOKENS),
    test.UNREACHABLE: (
        ("получателя нет в канале", "the recipient is not on the channel"),
        Error.RECIPIENT_UNREACHABLE,
    ),
    EXPIRED_CODE: (
        ("доставлено, но код уже истёк", "delivered, but the code has already expired"),
        None,
    ),
    "0005": (("отправлять ещё рано", "too soon to send again"), Error.RESEND_TOO_SOON),
    test.LATE: (
        (f"доставлено через {test.LATE_BY} секунд", f"delivered after {test.LATE_BY} seconds"),
        None,
    ),
    test.NEVER: (
        ("не доставлено: выйдет время", "never delivered: it expires"),
        None,
    ),
    test.REFUSED: (("канал отказался доставлять", "the channel refuses"), Error.DELIVERY_FAILED),
    test.FALLS_BACK: (
        ("ушло следующим каналом", "falls back to the next channel"),
        None,
    ),
}


def refuse_scripted(principal: Principal, phone: str) -> None:
    error = REFUSED_AT_ONCE.get(phone[-4:]) if principal.is_test else None
    if error is Error.INSUFFICIENT_TOKENS:
        raise DomainError(error, required=1, available=0)
    if error is Error.RESEND_TOO_SOON:
        raise DomainError(error, retry_after=60)
    if error is not None:
        raise DomainError(error)


def is_scripted(principal: Principal, phone: str, script: str) -> bool:
    return principal.is_test and phone.endswith(script)


def fallback(
    principal: Principal, phone: str, *, named: str | None, channel: Channel
) -> Fallback | None:
    """The company's chain, unless the request named its channel; a number that scripts a fallback
    has one in any case.
    """
    own = principal.fallback if named is None else None
    if not is_scripted(principal, phone, test.FALLS_BACK):
        return own
    if own and routing.after(channel, own):
        return own
    others = [one for one in routing.order(principal.default_channel) if one is not channel]
    return Fallback((channel.value, others[0].value))
