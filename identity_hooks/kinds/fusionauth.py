"""FusionAuth's generic messenger."""

from django.utils.translation import gettext_lazy as _

from identity_hooks.kind import EVERYWHERE, Setting
from identity_hooks.mapped_kind import mapped_kind

KIND = mapped_kind(
    "fusionauth",
    "FusionAuth",
    source="https://fusionauth.io/docs/customize/email-and-messages/generic-messenger",
    mapping={"phone": "/phoneNumber", "code": "/code", "text": "/textMessage"},
    settings=(
        Setting(
            EVERYWHERE,
            "Message types        SMS\n"
            "URL                  {url}\n"
            "Connect timeout      2000\n"
            "Read timeout         5000\n"
            "Security\n"
            "  Basic auth username  kvitok\n"
            "  Basic auth password  {secret}",
            place="Settings → Messengers → Add Generic Messenger",
        ),
    ),
    notes=(
        _("Choose the messenger for phones and for the second step in the settings of the tenant."),
    ),
)
