from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class LinksConfig(AppConfig):
    name = "links"
    verbose_name = _("Short links")

    def ready(self) -> None:
        """Tells the channels how a link is worded."""
        from channels import registry  # noqa: PLC0415 - models are not loaded before this
        from links import counting, partitions, services  # noqa: PLC0415

        registry.renders("link", services.render)
        registry.purges(partitions.turn)
        registry.purges(counting.forget_batches)
