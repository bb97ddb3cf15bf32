from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class OtpConfig(AppConfig):
    name = "otp"
    verbose_name = _("Codes")

    def ready(self) -> None:
        """Tells the channels how a code is worded, what a right one proves, and how many were;
        and the keys, who has a wording of their own.
        """
        from accounts import texts as own_texts  # noqa: PLC0415 - models are not loaded before this
        from channels import registry  # noqa: PLC0415
        from otp import rendering, services, sql, story, texts  # noqa: PLC0415

        own_texts.come_from(own_texts.Column(sql.OWN_TEXTS, texts.parse))
        registry.renders("code", rendering.render)
        registry.tells("code", story.story)
        registry.settles(services.settle_verified)
        registry.counts_codes(services.count_codes)
        registry.purges(services.purge_phones)
