from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class BillingConfig(AppConfig):
    name = "billing"
    verbose_name = _("Money")

    def ready(self) -> None:
        """Declares the events of webhooks, what the search finds and words of the audit log."""
        from accounts.webhooks import event_declarations  # noqa: PLC0415 - models come first
        from billing.web import audit_subjects, search_sources, webhook_events  # noqa: PLC0415

        search_sources.register()
        audit_subjects.register()
        event_declarations.declare(webhook_events.BALANCE_EVENT, webhook_events.TOP_UP_EVENT)
