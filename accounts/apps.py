from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = _("Companies and people")

    def ready(self) -> None:
        """Imports the apps' `declared`: what each tells the packages below it."""
        from accounts.security import signal_receivers  # noqa: PLC0415 - models, once apps are ready

        autodiscover_modules("declared")
        signal_receivers.connect()
