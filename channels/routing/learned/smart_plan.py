"""Plans a code's channels with the learned router, for companies that chose smart routing.

A twentieth of their codes is planned as without it, for good: only against these is a saving
known. What was decided, and why, goes with the message; `words` tells it to people.
"""

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import structlog
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from catalogue.channels import by_stored_name
from catalogue.ids import first_id_at
from channels.models import Message
from channels.phone_numbers import country_of
from channels.routing.learned import learned_router, phone_memories
from channels.routing.smart.plans import Plan
from channels.routing.smart.reach import EXPIRY, Area, PhoneMemory
from channels.routing.smart.router import Decision, ReasonCode

log = structlog.get_logger(__name__)

HELD_OUT = 20  # one of so many
RANGE_DIGITS = 7  # of a number after its carrier's range
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
    follows the company's own order.
    """
    if not prices:
        return None
    try:
        return _plan(company_id, phone, prices, is_preview=is_preview)
    except Exception:
        log.exception("smart_plan_failed", company=company_id)
        return None


def _plan(company_id: int, phone: str, prices: dict[str, int], *, is_preview: bool) -> SmartPlan:
    """Uses what other companies' messages taught of a phone without revealing it: a preview of a
    number that this company never reached uses the rates of its range.
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
    """While the phone is remembered; so older months are not looked into."""
    since = first_id_at(timezone.now() - timedelta(seconds=EXPIRY))
    return Message.objects.filter(
        company=company_id, phone=phone, mode="live", state=Message.State.DELIVERED, id__gte=since
    ).exists()


def held_out_route() -> dict[str, Any]:
    return {"arm": HOLD_OUT}


def range_of(phone: str) -> str:
    return phone[:-RANGE_DIGITS]


def _route(decision: Decision) -> dict[str, Any]:
    """Kept with the message; `otp.history` and the API word it."""
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


HOUR, DAY = 3600, 86_400


def words(route: Mapping[str, Any]) -> str:
    """The text of `params["route"]`; for one written by a later release, only its plan."""
    if route.get("arm") != "smart":
        return _("Sent by the company's own order: one code in twenty is, to measure the saving.")
    plan = route.get("plan") or []
    parts = [_reason(route, plan), *_following(plan)]
    return "; ".join(part for part in parts if part)


def _reason(route: Mapping[str, Any], plan: list[list[Any]]) -> str:
    channel = _title(plan[0][0]) if plan else ""
    share = round(100 * float(route.get("share") or 0))
    texts = {
        ReasonCode.PROVED: _("%(channel)s first: it reached this number %(ago)s"),
        ReasonCode.LIKELY: _("%(channel)s first: it reaches %(share)d%% of numbers like this one"),
        ReasonCode.SMS_SURER: _("%(channel)s at once: messengers would cost time or lose codes"),
        ReasonCode.BARRED: _("%(channel)s first: the subscriber bars SMS"),
        ReasonCode.EXPLORED: _("%(channel)s first, to see whether it works again"),
        ReasonCode.LEARNED: _("%(channel)s first, from past results"),
        ReasonCode.ONLY_ONE: _("%(channel)s: nothing else may be used now"),
    }
    text = next((text for code, text in texts.items() if code.value == route.get("reason")), "")
    ago = _ago(route.get("proved_before"))
    return text % {"channel": channel, "share": share, "ago": ago} if text else channel


def _following(plan: list[list[Any]]) -> list[str]:
    """«SMS after 14 s»"""
    parts, waited = [], 0
    for (_channel, patience), (following, _patience) in pairwise(plan):
        waited += int(patience or 0)
        parts.append(_("%(channel)s after %(n)d s") % {"channel": _title(following), "n": waited})
    return parts


def _ago(seconds: float | None) -> str:
    if seconds is None:
        return pgettext("when it reached this number", "before")
    if seconds < HOUR:
        return _("within the last hour")
    if seconds < DAY:
        hours = int(seconds // HOUR)
        return ngettext("%(n)d hour ago", "%(n)d hours ago", hours) % {"n": hours}
    days = int(seconds // DAY)
    return ngettext("%(n)d day ago", "%(n)d days ago", days) % {"n": days}


def _title(name: str) -> str:
    return str(by_stored_name(name).title)
