"""Applies the company's open restrictions to a send; queries the database only if one covers it."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.keys.principal import GuardSettings, OpenRestriction, Principal
from accounts.models import GuardMode
from catalogue.channels import BY_NAME
from catalogue.errors import AfterEffectError, DomainError, Error
from channels.guard.guard import GuardStep
from channels.guard.scope_evidence import ScopeKind, scopes_of
from channels.phone_numbers import country_of
from channels.routing import scripted_numbers
from channels.routing.channel_plan import ChannelPlan
from otp.protection import challenges, known_phones, restrictions
from otp.protection.notifications import scope_name
from otp.protection.requesters import Requester

SCRIPTED = {
    scripted_numbers.CHALLENGED: GuardStep.CHALLENGE,
    scripted_numbers.HELD_BACK: GuardStep.REFUSE,
}
SCRIPTED_SECONDS = 3600  # duration of a scripted refusal, equal to the first live one


@dataclass(frozen=True, slots=True)
class Restricted:
    """A send under a restriction, and the step to take."""

    company_id: int
    phone: str
    requester: Requester
    step: GuardStep
    restriction: OpenRestriction
    is_enforced: bool

    @property
    def is_without_sms(self) -> bool:
        return self.is_enforced and self.step is GuardStep.CHEAP_ONLY


def restriction_for(principal: Principal, phone: str, requester: Requester) -> Restricted | None:
    """The restriction that covers this send; None if it may be sent unchanged."""
    if principal.is_test:
        return _scripted_step(principal.company_id, phone, requester)
    if not principal.guard.restrictions:
        return None
    restriction = _strictest(principal.guard, phone, requester)
    if restriction is None or known_phones.is_known(principal.company_id, phone):
        return None
    step = GuardStep(restriction.step)
    if _is_trusted(requester, step):
        return None
    is_enforced = principal.guard.mode == GuardMode.ENFORCE
    return Restricted(principal.company_id, phone, requester, step, restriction, is_enforced)


def _is_trusted(requester: Requester, step: GuardStep) -> bool:
    """Whether the request is marked `trusted`, which exempts the person from all but a refusal."""
    return requester.is_trusted and step is not GuardStep.REFUSE


def _scripted_step(company_id: int, phone: str, requester: Requester) -> Restricted | None:
    """The step that a test number simulates, as if its range were under attack."""
    step = SCRIPTED.get(phone[-4:])
    if step is None or _is_trusted(requester, step):
        return None
    scope = ScopeKind.TEN_THOUSAND.value, phone[:-4]
    restriction = OpenRestriction(*scope, step.value, time.time() + SCRIPTED_SECONDS, id=0)
    return Restricted(company_id, phone, requester, step, restriction, is_enforced=True)


@contextmanager
def enforced(plan: ChannelPlan, restricted: Restricted | None) -> Iterator[ChannelPlan]:
    """The plan that the restriction leaves: without SMS if it allows only cheaper channels.

    Raises `challenge_required` or `send_limit`. A later refusal of the send gives the solved
    challenge back.
    """
    if restricted is None:
        yield plan
        return
    allowed = _without_sms(plan) if restricted.is_without_sms else plan
    is_shorter = allowed != plan or plan.is_without_sms
    _enforce(restricted, is_shorter=is_shorter)
    try:
        yield allowed
    except AfterEffectError:
        raise
    except DomainError:
        if restricted.is_enforced and restricted.step is GuardStep.CHALLENGE:
            challenges.allow_reuse(restricted.requester.challenge)
        raise


def _enforce(restricted: Restricted, *, is_shorter: bool) -> None:
    """Raises the refusal that the restriction requires, if any.

    Counts the sends that are held back, and in monitoring mode the sends that would be.
    """
    if restricted.step is GuardStep.CHEAP_ONLY:
        if is_shorter or not restricted.is_enforced:
            restrictions.count_stopped(restricted.restriction.id)
        return
    if restricted.is_enforced and restricted.step is GuardStep.CHALLENGE:
        try:
            challenge = restricted.requester.challenge
            challenges.check(restricted.company_id, restricted.phone, challenge)
        except DomainError:
            restrictions.count_stopped(restricted.restriction.id)
            raise
        return
    restrictions.count_stopped(restricted.restriction.id)
    if restricted.is_enforced:
        raise _refusal(restricted.restriction)


def _strictest(guard: GuardSettings, phone: str, requester: Requester) -> OpenRestriction | None:
    """The strictest restriction on this send; None also if a member let one of its scopes pass."""
    now = time.time()
    strictest = None
    for scope in scopes_of(phone, country_of(phone), requester.ip, requester.device):
        restriction = guard.restrictions.get((scope.kind.value, scope.value))
        if restriction is None or restriction.until <= now:
            continue
        if restriction.step == GuardStep.ALLOW:
            return None
        if strictest is None or restriction.step > strictest.step:
            strictest = restriction
    return strictest


def _without_sms(plan: ChannelPlan) -> ChannelPlan:
    """The plan without SMS, or unchanged if SMS is its only channel: nothing cheaper is left."""
    chain = plan.chain_without_sms
    if not plan.channel.has_segments:
        return replace(plan, chain=chain)
    if not chain:
        return plan
    first, *rest = chain
    return replace(
        plan,
        channel=BY_NAME[first.channel],
        price=first.price,
        own_patience=first.patience,
        chain=tuple(rest),
    )


def _refusal(restriction: OpenRestriction) -> DomainError:
    seconds = max(1, math.ceil(restriction.until - time.time()))
    message = format_lazy(
        _(
            "Held back by the protection against SMS pumping: codes to this scope ({scope}) "
            "are delivered but not entered. Lift it in the cabinet, Settings → Protection"
        ),
        scope=scope_name(restriction.kind, restriction.value),
    )
    limit = {"kind": "guard", "scope": restriction.kind}
    if restriction.kind not in (ScopeKind.IP, ScopeKind.DEVICE):
        limit["value"] = restriction.value
    return DomainError(Error.SEND_LIMIT, message=message, retry_after=seconds, limit=limit)
