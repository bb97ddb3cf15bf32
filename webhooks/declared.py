"""Declarations of webhooks, which the packages below them read."""

from django.utils.translation import gettext_lazy as _

from accounts import audit
from accounts.purges import PURGERS
from webhooks import deliveries

PURGERS += [deliveries.purge_events, deliveries.purge_endpoints]
audit.declare(
    {
        "webhook.created": _("added a webhook address"),
        "webhook.changed": _("changed a webhook address"),
        "webhook.rotated": _("replaced the secret of a webhook address"),
        "webhook.enabled": _("switched webhooks on"),
        "webhook.disabled": _("switched webhooks off"),
        "webhook.deleted": _("removed a webhook address"),
        "webhook.replayed": _("replayed events"),
        "webhook.gave_up": _("switched webhooks off: nothing was accepted for a day"),
    }
)
audit.FIELD_LABELS |= {
    "url": _("Address"),
    "kinds": _("Events"),
    "description": _("Description"),
}
