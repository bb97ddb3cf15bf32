"""What a test key's number scripts before anything is accepted.

The rest of the script is played by the `test` provider.
"""

from accounts.keys import Principal
from channels import routing
from channels.providers.base import Channel
from config.errors import DomainError, Error

REFUSED_AT_ONCE = {
    "0001": Error.INVALID_PHONE,
    "0002": Error.INSUFFICIENT_TOKENS,
    "0005": Error.RESEND_TOO_SOON,
}
EXPIRED_CODE = "0004"
FALLS_BACK = "0009"


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


def chain(principal: Principal, phone: str, channel: Channel) -> list[str]:
    """Where to go on to after a refusal: companies have no chain yet, a test number has."""
    if not is_scripted(principal, phone, FALLS_BACK):
        return []
    return [one.value for one in routing.order(principal.default_channel) if one is not channel][:1]
