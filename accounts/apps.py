from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = _("Companies and people")

    def ready(self) -> None:
        from accounts.security import signal_receivers  # noqa: PLC0415 - models, once apps are ready

        signal_receivers.connect()
