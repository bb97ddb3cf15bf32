"""Descope's connector *Generic SMS Gateway*."""

from django.utils.translation import gettext_lazy as _

from identity_hooks.kind import CLOUD, Setting
from identity_hooks.mapped_kind import mapped_kind

KIND = mapped_kind(
    "descope",
    "Descope",
    source="https://docs.descope.com/connectors/connector-configuration-guides/messaging/sms-gateway",
    mapping={"phone": "/recipient", "code": "/token", "text": "/body"},
    settings=(
        Setting(
            CLOUD,
            "Post Message URL  {url}\n"
            "Authentication    Bearer Token: {secret}\n"
            "Sender            Kvitok",
            place="Connectors → Generic SMS Gateway",
        ),
    ),
    notes=(_("Switch on fixed addresses of the connector and enter them here as allowed ones."),),
)
