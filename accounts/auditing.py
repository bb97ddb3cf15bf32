"""What was done, as the cabinet says it."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

WORDS: dict[str, str | Promise] = {
    "company.created": _("created the company"),
    "company.approved": _("approved the company"),
    "company.suspended": _("suspended the company"),
    "company.pending": _("put the company back to waiting"),
    "settings.changed": _("changed the settings"),
    "key.created": _("created an API key"),
    "key.rotated": _("replaced an API key"),
    "key.revoked": _("revoked an API key"),
    "history.exported": _("downloaded the history"),
    "member.invited": _("invited a member"),
    "member.joined": _("joined the company"),
    "member.role_changed": _("changed a member's role"),
    "member.removed": _("removed a member"),
    "member.left": _("left the company"),
    "invitation.revoked": _("called an invitation off"),
}


def words(action: str) -> str | Promise:
    return WORDS.get(action, action)
