"""The people whom no restriction stops: phones known to the company, and persons it trusts."""

from accounts.keys.principal import Principal
from channels.guard.guard import GuardStep
from otp.protection import known_phones
from otp.protection.requesters import Requester


def is_known(principal: Principal, phone: str) -> bool:
    """A phone that entered a code before passes every step; `known_phones` says which."""
    return known_phones.is_known(principal.company_id, phone)


def is_trusted(requester: Requester, step: GuardStep) -> bool:
    """`trusted` of the request spares the person all but the refusal."""
    return requester.is_trusted and step is not GuardStep.REFUSE
