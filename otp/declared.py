"""Declarations of codes, which the packages below them read."""

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts import audit
from accounts.keys import principal
from accounts.models import AuditEvent, GuardMode
from accounts.purges import PURGERS
from cabinet import search
from channels.extensions import MessageKind, register
from channels.guard.scope_evidence import ScopeKind
from links.manage import timeline
from otp import history, sealed_codes
from otp.check import entered_codes, settlement
from otp.protection import guard_evidence
from otp.protection.notifications import scope_name
from otp.statistics import savings_count
from otp.texts import own_texts, rendering
from otp.web import calls, search_sources
from webhooks import events


def _audited_mode(event: AuditEvent) -> str:
    labels = dict(GuardMode.choices)
    modes = (event.changes or {}).get("guard_mode") or event.subject.split(" → ")
    return " → ".join(str(labels.get(mode, mode)) for mode in modes)


def _audited_watching(event: AuditEvent) -> str:
    _before, after = (event.changes or {}).get("guard_watches_others", (None, None))
    return gettext("they count") if after else gettext("they do not count")


def _audited_scope(event: AuditEvent) -> str:
    """A country, one IP address or device, or a prefix of numbers."""
    subject = event.subject
    if subject in (ScopeKind.IP, ScopeKind.DEVICE):
        return scope_name(subject, "")
    return scope_name(ScopeKind.COUNTRY, subject) if subject.isalpha() else f"{subject}…"


principal.register_column(principal.TextsColumn(own_texts.COLUMN, own_texts.parse))
register(
    MessageKind(
        name="code",
        render=rendering.render,
        timeline=history.timeline_entries,
        opened_at=timeline.opened_at,
        settle=settlement.settle_verified,
        report=entered_codes.report,
        find_custom_codes=sealed_codes.find,
        count_breakdowns=history.count_breakdowns,
        with_purpose=history.with_purpose,
    )
)
PURGERS += [history.anonymise_phones, guard_evidence.purge, savings_count.purge]
search.register(search_sources.PAGES, search_sources.SOURCE)
events.declare(*calls.EVENTS)
audit.declare(
    {
        "text.created": _("added a text"),
        "text.changed": _("changed a text"),
        "text.deleted": _("deleted a text"),
        "autofill.changed": _("changed the lines for autofill"),
        "message.requested": _("asked for a message from the cabinet"),
    }
)
audit.declare(
    {"guard.mode_changed": _("changed the mode of the protection")}, describe=_audited_mode
)
audit.declare(
    {"guard.watches_others": _("changed whether attacks on other companies count")},
    describe=_audited_watching,
)
audit.declare(
    {
        "guard.lifted": _("lifted a restriction of the protection"),
        "guard.let_through": _("let sends through for an hour"),
    },
    describe=_audited_scope,
)
audit.FIELD_LABELS |= {
    "purpose": _("Purpose"),
    "locale": _("Language"),
    "body": _("Text"),
    "webotp_host": _("Site where the code is entered"),
    "app_hash": _("Hash of the Android app"),
}
