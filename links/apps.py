from django.apps import AppConfig


class LinksConfig(AppConfig):
    name = "links"

    def ready(self) -> None:
        """Tells the channels how a link is worded."""
        from channels import registry  # noqa: PLC0415 - models are not loaded before this
        from links import services  # noqa: PLC0415

        registry.renders("link", services.render)
