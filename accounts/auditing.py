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
    "link.disabled": _("disabled a short link"),
    "factor.reset": _("reset a second factor"),
    "trial.sent": _("sent a trial message"),
    "webhook.created": _("added a callback endpoint"),
    "webhook.changed": _("changed a callback endpoint"),
    "webhook.rotated": _("replaced an endpoint's secret"),
    "webhook.enabled": _("switched an endpoint on"),
    "webhook.disabled": _("switched an endpoint off"),
    "webhook.gave_up": _("switched off an endpoint that accepted nothing"),
    "webhook.replayed": _("sent an event again"),
    "webhook.deleted": _("deleted a callback endpoint"),
    "billing.changed": _("changed the details for documents"),
    "statement.exported": _("downloaded the statement"),
    "order.created": _("asked for a top-up"),
    "order.confirmed": _("confirmed a payment"),
    "order.canceled": _("called a top-up off"),
    "payment.accepted": _("credited a payment"),
    "payment.settled": _("settled a payment"),
    "wallet.adjusted": _("adjusted the balance"),
}


def words(action: str) -> str | Promise:
    return WORDS.get(action, action)
