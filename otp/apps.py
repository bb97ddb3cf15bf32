from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class OtpConfig(AppConfig):
    name = "otp"
    verbose_name = _("Codes")

    def ready(self) -> None:
        """Tells the channels how a code is worded and what a right one proves."""
        from channels import registry  # noqa: PLC0415 - models are not loaded before this
        from otp import rendering, services  # noqa: PLC0415

        registry.renders("code", rendering.render)
        registry.settles(services.settle_verified)
        registry.purges(services.purge_phones)
