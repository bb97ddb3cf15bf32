"""Why a plan was chosen, as values that a page or the API can word."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from channels.routing.smart.phone_memory import PhoneMemory, Standing
from channels.routing.smart.plans import Candidate, Plan
from channels.routing.smart.reach import Place


class ReasonCode(StrEnum):
    PROVED = "proved"  # the first channel reached this phone before
    LIKELY = "likely"  # it reaches so many of such phones that trying it first pays
    SMS_SURER = "sms_surer"  # messengers would cost time or right codes
    BARRED = "barred"  # the subscriber bars SMS
    EXPLORED = "explored"
    LEARNED = "learned"  # as `PROVED`, where how it is known is nobody's business
    ONLY_ONE = "only_one"  # nothing else is allowed


@dataclass(frozen=True, slots=True)
class Reason:
    code: ReasonCode
    channel: str  # the first of the plan
    country: str
    share: float  # expected deliveries of the first channel, of 1
    proved_before: float | None = None  # seconds since its last proof with this phone
    patience: int | None = None


def reason_for(
    now: float,
    place: Place,
    memory: PhoneMemory,
    plan: Plan,
    candidates: Sequence[Candidate],
    *,
    explored: bool,
) -> Reason:
    first = plan[0]
    share = next(one.delivered for one in candidates if one.channel == first.channel)
    trace = memory.channels.get(first.channel)
    proved_at = trace.proved_at if trace else None
    if explored:
        code = ReasonCode.EXPLORED
    elif len(candidates) == 1:
        code = ReasonCode.ONLY_ONE
    elif memory.standing(first.channel, now) is Standing.PROVED:
        code = ReasonCode.PROVED
    elif first.channel == "sms":
        code = ReasonCode.SMS_SURER
    elif memory.standing("sms", now) is Standing.BARRED:
        code = ReasonCode.BARRED
    else:
        code = ReasonCode.LIKELY
    return Reason(
        code=code,
        channel=first.channel,
        country=place.country,
        share=share,
        proved_before=None if proved_at is None else now - proved_at,
        patience=first.patience,
    )
