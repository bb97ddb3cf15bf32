"""Plans a code's channels by what was learned, for companies that chose smart routing.

A twentieth of their codes is planned as without it, for good: only against these is a saving
known. What was decided, and why, goes with the message.
"""

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import structlog
from django.utils import timezone

from channels.models import Message
from channels.phone_numbers import country_of
from channels.routing.learned import learned_router, phone_memories
from channels.routing.smart.phone_memory import EXPIRY, PhoneMemory
from channels.routing.smart.plans import Forecast, Plan
from channels.routing.smart.reach import Place
from channels.routing.smart.reasons import Reason, ReasonCode
from config.ids import first_id_at

log = structlog.get_logger(__name__)

HELD_OUT = 20  # one of so many
RANGE_DIGITS = 7  # of a number after its operator's range
SMART, HOLD_OUT = "smart", "hold_out"


@dataclass(frozen=True, slots=True)
class SmartPlan:
    steps: Plan
    route: dict[str, Any]  # for the message: what was decided, and why


def is_held_out() -> bool:
    return secrets.randbelow(HELD_OUT) == 0


def plan(
    company_id: int, phone: str, prices: dict[str, int], *, is_preview: bool = False
) -> SmartPlan | None:
    """`prices` are those of the channels that may be used. Reads the row of the phone.

    None if nothing can be planned. A fault here must not stop a code, so it is logged, and the send
    goes by the company's own order.
    """
    if not prices:
        return None
    try:
        return _plan(company_id, phone, prices, is_preview=is_preview)
    except Exception:
        log.exception("smart_plan_failed", company=company_id)
        return None


def _plan(company_id: int, phone: str, prices: dict[str, int], *, is_preview: bool) -> SmartPlan:
    """What other companies' messages taught of a phone is used, and not told: a preview of a number
    that this company never reached goes by what is known of such numbers.
    """
    is_own = _has_reached(company_id, phone)
    memory = PhoneMemory() if is_preview and not is_own else phone_memories.load(phone)
    router = learned_router.router(prices, explores=not is_preview)
    place = Place(country_of(phone), range_of(phone))
    decision = router.decide(time.time(), place, memory, sorted(prices))
    reason = decision.reason
    if reason.code is ReasonCode.PROVED and not is_own:
        reason = replace(reason, code=ReasonCode.LEARNED, proved_before=None)
    return SmartPlan(decision.plan, _route(decision.plan, reason, decision.choice.alternatives))


def _has_reached(company_id: int, phone: str) -> bool:
    """While the phone is remembered; so older months are not looked into."""
    since = first_id_at(timezone.now() - timedelta(seconds=EXPIRY))
    return Message.objects.filter(
        company=company_id, phone=phone, mode="live", state=Message.State.DELIVERED, id__gte=since
    ).exists()


def held_out_route() -> dict[str, Any]:
    return {"arm": HOLD_OUT}


def range_of(phone: str) -> str:
    return phone[:-RANGE_DIGITS]


def _route(plan: Plan, reason: Reason, alternatives: Sequence[Forecast]) -> dict[str, Any]:
    """Kept with the message; `otp.history` and the API word it."""
    before = reason.proved_before
    return {
        "arm": SMART,
        "plan": [[step.channel, step.patience] for step in plan],
        "reason": reason.code.value,
        "share": round(reason.share, 2),
        "proved_before": None if before is None else round(before),
        "alternatives": [
            {"channels": [step.channel for step in one.plan], "tokens": round(one.tokens, 1)}
            for one in alternatives
        ],
    }
