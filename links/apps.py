from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class LinksConfig(AppConfig):
    name = "links"
    verbose_name = _("Short links")

    def ready(self) -> None:
        """Tells the channels how a link is worded, and when it was opened."""
        from channels import registry  # noqa: PLC0415 - models are not loaded before this
        from links import counting, partitions, story, wording  # noqa: PLC0415

        registry.renders("link", wording.render)
        registry.tells("link", story.story)
        registry.knows_openings(story.opened_at)
        registry.purges(partitions.turn)
        registry.purges(counting.forget_batches)
