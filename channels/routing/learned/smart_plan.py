"""Plans a code's channels with the learned router, for companies that chose smart routing.

A twentieth of their codes is permanently planned without it: only against these can a saving be
measured. The decision and its reason are stored with the message; `history.route_text` explains it.
"""

import secrets
import time
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import structlog
from django.utils import timezone

from catalogue.ids import first_id_at
from channels.models import Message
from channels.phone_numbers import country_of
from channels.routing.learned import learned_router, phone_memories
from channels.routing.smart.plans import Plan
from channels.routing.smart.reach import EXPIRY, Area, PhoneMemory
from channels.routing.smart.router import ReasonCode, RoutingChoice

log = structlog.get_logger(__name__)

HELD_OUT = 20  # 1 in N sends
RANGE_DIGITS = 7  # digits of a number after its carrier's range
SMART = "smart"
HOLD_OUT = "hold_out"


@dataclass(frozen=True, slots=True)
class SmartPlan:
    steps: Plan
    route: dict[str, Any]  # decision and reason, for the message


def is_held_out() -> bool:
    return secrets.randbelow(HELD_OUT) == 0


def plan(
    company_id: int, phone: str, prices: dict[str, int], *, is_preview: bool = False
) -> SmartPlan | None:
    """Plans with `prices` of the usable channels. Reads the memory of the phone.

    Returns None if nothing can be planned. A fault here must not stop a code, so it is logged, and
    the send follows the company's own order.
    """
    if not prices:
        return None
    try:
        return _plan(company_id, phone, prices, is_preview=is_preview)
    except Exception:
        log.exception("smart_plan_failed", company=company_id)
        return None


def _plan(company_id: int, phone: str, prices: dict[str, int], *, is_preview: bool) -> SmartPlan:
    """Plans with the memory of the phone, which other companies' messages taught too.

    It is not revealed: a preview of a number that this company never reached uses the rates of the
    number's range.
    """
    is_own = _has_reached(company_id, phone)
    memory = PhoneMemory() if is_preview and not is_own else phone_memories.load(phone)
    router = learned_router.router(prices, explores=not is_preview)
    area = Area(country_of(phone), range_of(phone))
    decision = router.decide(time.time(), area, memory, sorted(prices))
    if decision.reason is ReasonCode.PROVED and not is_own:
        decision = replace(decision, reason=ReasonCode.LEARNED, proved_before=None)
    return SmartPlan(decision.plan, _route(decision))


def _has_reached(company_id: int, phone: str) -> bool:
    """Whether this company reached the phone within the time that phones are remembered."""
    since = first_id_at(timezone.now() - timedelta(seconds=EXPIRY))
    return Message.objects.filter(
        company=company_id, phone=phone, mode="live", state=Message.State.DELIVERED, id__gte=since
    ).exists()


def held_out_route() -> dict[str, Any]:
    return {"arm": HOLD_OUT}


def range_of(phone: str) -> str:
    return phone[:-RANGE_DIGITS]


def _route(decision: RoutingChoice) -> dict[str, Any]:
    before = decision.proved_before
    return {
        "arm": SMART,
        "plan": [[step.channel, step.patience] for step in decision.plan],
        "reason": decision.reason.value,
        "share": round(decision.share, 2),
        "proved_before": None if before is None else round(before),
        "alternatives": [
            {"channels": [step.channel for step in other.plan], "tokens": round(other.tokens, 1)}
            for other in decision.alternatives
        ],
    }
