"""How the audit log words what members did to the protection."""

from django.utils.translation import gettext as _

from accounts.audit.texts import declare_words
from accounts.models import AuditEvent, GuardMode
from channels.guard.scopes import ScopeKind
from otp.protection.scope_names import scope_name


def register() -> None:
    declare_words(_mode, "guard.mode_changed")
    declare_words(_watching, "guard.watches_others")
    declare_words(_scope, "guard.lifted", "guard.let_through")


def _mode(event: AuditEvent) -> str:
    words = dict(GuardMode.choices)
    modes = (event.changes or {}).get("guard_mode") or event.subject.split(" → ")
    return " → ".join(str(words.get(mode, mode)) for mode in modes)


def _watching(event: AuditEvent) -> str:
    _before, after = (event.changes or {}).get("guard_watches_others", (None, None))
    return _("they count") if after else _("they do not count")


def _scope(event: AuditEvent) -> str:
    """A country, one IP address or device, or the beginning of the numbers."""
    subject = event.subject
    if subject in (ScopeKind.IP, ScopeKind.DEVICE):
        return scope_name(subject, "")
    return scope_name(ScopeKind.COUNTRY, subject) if subject.isalpha() else f"{subject}…"
