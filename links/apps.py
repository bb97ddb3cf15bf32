from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class LinksConfig(AppConfig):
    name = "links"
    verbose_name = _("Short links")

    def ready(self) -> None:
        """Registers how messages with links are rendered, and when they were opened; declares the
        event of webhooks.
        """
        from cabinet import settings_forms  # noqa: PLC0415
        from channels.extensions import MessageKind, register  # noqa: PLC0415
        from links import link_imports  # noqa: PLC0415
        from links.api import calls  # noqa: PLC0415
        from links.clicks import counting  # noqa: PLC0415
        from links.make import message_text  # noqa: PLC0415
        from links.manage import timeline  # noqa: PLC0415
        from links.web import forms, search_sources  # noqa: PLC0415
        from webhooks import events  # noqa: PLC0415 - models come first

        register(
            MessageKind(
                name="link",
                render=message_text.render_link,
                timeline=timeline.entries,
                opened_at=timeline.opened_at,
                purgers=[
                    counting.rotate_partitions,
                    counting.delete_old_batches,
                    link_imports.purge,
                ],
            )
        )
        search_sources.register()
        settings_forms.register(forms.LinksSection)
        events.declare(*calls.EVENTS)
