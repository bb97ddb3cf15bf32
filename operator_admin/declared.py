"""Declarations of the operator's site, which the packages below it read."""

from django.utils.translation import gettext_lazy as _

from accounts import audit

audit.declare(
    {
        "seller.changed": _("changed the seller's details"),
        "prices.changed": _("changed the prices"),
        "wallet.adjusted": _("changed the balance manually"),
        "factor.reset": _("reset a second factor"),
        "admin.added": _("added in the admin"),
        "admin.changed": _("changed in the admin"),
        "admin.deleted": _("deleted in the admin"),
        "trial.sent": _("sent a trial message"),
        "account.changed": _("changed a provider account"),
        "account.tested": _("tested a provider account"),
        "job.retried": _("had failed work tried again"),
        "breaker.closed": _("closed a breaker"),
        "incident.opened": _("opened an incident"),
        "incident.updated": _("added an update to an incident"),
        "incident.resolved": _("resolved an incident"),
    }
)
