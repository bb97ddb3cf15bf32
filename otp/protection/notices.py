"""Tells a company that the guard has begun to hold sends back, or would in another mode."""

from datetime import datetime

from django.conf import settings
from django.urls import reverse

from accounts.models import Company, EventKind, Member, Mode
from accounts.outbox import events, mail
from otp.models import GuardRestriction, ScopeKind
from otp.protection.week_replay import WeekFigures

HASHED = {ScopeKind.IP, ScopeKind.DEVICE}
NOTIFIED_ROLES = (Member.Role.OWNER, Member.Role.DEVELOPER)


def post(restriction: GuardRestriction) -> None:
    """In the caller's transaction."""
    mail.post_to_members(
        company=restriction.company,
        roles=NOTIFIED_ROLES,
        template="guard_triggered",
        context={"restriction": restriction, "page_url": _page_url()},
        key=_key(restriction),
    )


def post_week(company: Company, found: WeekFigures) -> None:
    """In the caller's transaction, which sees to it that a week is told of once."""
    mail.post_to_members(
        company=company,
        roles=NOTIFIED_ROLES,
        template="guard_week",
        context={"week": found, "page_url": _page_url()},
    )


def emit_event(restriction: GuardRestriction, *, at: datetime) -> None:
    """In the caller's transaction; `guard.triggered`, for webhooks."""
    events.emit(
        company_id=restriction.company_id,
        mode=Mode.LIVE,
        kind=EventKind.GUARD_TRIGGERED,
        data=_event_data(restriction),
        key=_key(restriction),
        at=at,
    )


def _key(restriction: GuardRestriction) -> str:
    """A restriction may be lowered and refuse again: that is news, too."""
    return f"guard:{restriction.pk}:{restriction.step}:{restriction.until.timestamp():.0f}"


def _event_data(restriction: GuardRestriction) -> dict[str, object]:
    return {
        "scope": restriction.kind,
        # The hash of an address means nothing outside.
        "value": None if restriction.kind in HASHED else restriction.value,
        "step": GuardRestriction.Step(restriction.step).name.lower(),
        "rule": restriction.rule,
        "enforced": restriction.is_enforced,
        "codes": restriction.codes,
        "entered": restriction.entered,
        "tokens": restriction.excess,
        "until": restriction.until,
    }


def _page_url() -> str:
    return f"{settings.PUBLIC_URL}{reverse('protection')}"
