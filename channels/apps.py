from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ChannelsConfig(AppConfig):
    name = "channels"
    verbose_name = _("Messages and providers")

    def ready(self) -> None:
        from channels.web import calls, search_sources  # noqa: PLC0415
        from webhooks import events  # noqa: PLC0415 - models come first

        search_sources.register()
        events.declare(*calls.EVENTS)
