from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class LinksConfig(AppConfig):
    name = "links"
    verbose_name = _("Short links")

    def ready(self) -> None:
        """Tells the channels how a link is worded, and when it was opened."""
        from channels.vendor_accounts import registry  # noqa: PLC0415 - models are not loaded before this
        from links.clicks import counting, partitions  # noqa: PLC0415
        from links.make import message_text  # noqa: PLC0415
        from links.manage import timeline  # noqa: PLC0415

        registry.renders("link", message_text.render)
        registry.tells("link", timeline.story)
        registry.knows_openings(timeline.opened_at)
        registry.purges(partitions.turn)
        registry.purges(counting.forget_batches)
