from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class OtpConfig(AppConfig):
    name = "otp"
    verbose_name = _("Codes")

    def ready(self) -> None:
        """Tells the channels how a code is worded, what a right one proves, and how many were;
        and the keys, who has a wording of their own.
        """
        from accounts.keys import own_texts  # noqa: PLC0415 - models are not loaded before this
        from channels.vendor_accounts import registry  # noqa: PLC0415
        from otp import services, sql, timeline  # noqa: PLC0415
        from otp.texts import own_texts as company_texts  # noqa: PLC0415
        from otp.texts import rendering  # noqa: PLC0415

        own_texts.come_from(own_texts.Column(sql.OWN_TEXTS, company_texts.parse))
        registry.renders("code", rendering.render)
        registry.tells("code", timeline.story)
        registry.settles(services.settle_verified)
        registry.counts_codes(services.count_codes)
        registry.purges(services.purge_phones)
