"""Notifications of the guard's restrictions: names, e-mails, webhooks, the audit log."""

from datetime import datetime

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.models import TECHNICAL_ROLES, Company, Mode
from accounts.outbox import mail
from accounts.people import countries
from catalogue.languages import page_languages
from channels.guard.scope_evidence import CUTS, ScopeKind
from otp.models import GuardRestriction
from otp.protection.week_replay import WeekFigures
from webhooks import events
from webhooks.models import EventKind

_HIDDEN = {kind.value: digits for kind, digits in CUTS}


def scope_name(kind: str, value: str) -> str:
    """The scope's name in the active language; hashes of addresses and devices have none."""
    if kind in _HIDDEN:
        return value + "•" * _HIDDEN[kind]
    if kind == ScopeKind.COUNTRY:
        return countries.names(page_languages.active()).get(value, value)
    if kind == ScopeKind.IP:
        return _("one IP address")
    return _("one device")


HASHED = {ScopeKind.IP, ScopeKind.DEVICE}


def post(restriction: GuardRestriction) -> None:
    """Posts the e-mails about a restriction in the caller's transaction."""
    mail.post_to_members(
        company=restriction.company,
        roles=TECHNICAL_ROLES,
        template="guard_triggered",
        context={"restriction": restriction, "page_url": _page_url()},
        key=_key(restriction),
    )


def post_week(company: Company, figures: WeekFigures) -> None:
    """Posts the weekly e-mail in the caller's transaction, so that each week is reported once."""
    mail.post_to_members(
        company=company,
        roles=TECHNICAL_ROLES,
        template="guard_week",
        context={"week": figures, "page_url": _page_url()},
        kind=mail.NoticeKind.PROTECTION,
    )


def emit_event(restriction: GuardRestriction, *, at: datetime) -> None:
    """Emits the webhook event `guard.triggered` in the caller's transaction."""
    events.emit(
        company_id=restriction.company_id,
        mode=Mode.LIVE,
        kind=EventKind.GUARD_TRIGGERED,
        data=_event_data(restriction),
        key=_key(restriction),
        at=at,
    )


def _key(restriction: GuardRestriction) -> str:
    """The deduplication key, by which a restriction that refuses again is announced again."""
    return f"guard:{restriction.pk}:{restriction.step}:{restriction.until.timestamp():.0f}"


def _event_data(restriction: GuardRestriction) -> dict[str, object]:
    return {
        "scope": restriction.kind,
        # The hash of an address means nothing outside the service.
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
