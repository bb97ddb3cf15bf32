from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class BillingConfig(AppConfig):
    name = "billing"
    verbose_name = _("Money")

    def ready(self) -> None:
        """Declares the events of webhooks, what the search finds and words of the audit log."""
        from billing.web import declarations  # noqa: PLC0415 - models come first

        declarations.register()
