"""Explains how smart routing chose the channels of a message: “Telegram first: …”."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from catalogue.channels import by_stored_name
from channels.routing.learned.smart_plan import SMART
from channels.routing.smart.router import ReasonCode

HOUR = 3600
DAY = 86_400


def route_text(route: Mapping[str, Any]) -> str:
    """The text of `params["route"]`; only the plan if a later release wrote it."""
    if route.get("arm") != SMART:
        return _(
            "Sent in the company's own order, as one code in twenty is, to measure the saving."
        )
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
    ago = _age_text(route.get("proved_before"))
    return text % {"channel": channel, "share": share, "ago": ago} if text else channel


def _following(plan: list[list[Any]]) -> list[str]:
    """The following steps, each as «SMS after 14 s»."""
    parts = []
    waited = 0
    for (_channel, patience), (following, _patience) in pairwise(plan):
        waited += int(patience or 0)
        parts.append(_("%(channel)s after %(n)d s") % {"channel": _title(following), "n": waited})
    return parts


def _age_text(seconds: float | None) -> str:
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
