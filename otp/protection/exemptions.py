"""The people exempt from restrictions: phones known to the company, and persons it trusts."""

from accounts.keys.principal import Principal
from channels.guard.guard import GuardStep
from otp.protection import known_phones
from otp.protection.requesters import Requester


def is_known(principal: Principal, phone: str) -> bool:
    """Whether the phone has entered a code before, and so passes every step: `known_phones`."""
    return known_phones.is_known(principal.company_id, phone)


def is_trusted(requester: Requester, step: GuardStep) -> bool:
    """Whether the request is marked `trusted`, which exempts the person from all but a refusal."""
    return requester.is_trusted and step is not GuardStep.REFUSE
