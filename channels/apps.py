from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ChannelsConfig(AppConfig):
    name = "channels"
    verbose_name = _("Messages")

    def ready(self) -> None:
        """Declares the events of webhooks."""
        from accounts.webhooks import event_declarations  # noqa: PLC0415 - models come first
        from channels.web import webhook_events  # noqa: PLC0415

        event_declarations.declare(webhook_events.MESSAGE_EVENT)
