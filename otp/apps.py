from django.apps import AppConfig


class OtpConfig(AppConfig):
    name = "otp"

    def ready(self) -> None:
        """Tells the channels how a code is worded, what a right one proves, and how many were."""
        from channels import registry  # noqa: PLC0415 - models are not loaded before this
        from otp import rendering, services, story  # noqa: PLC0415

        registry.renders("code", rendering.render)
        registry.tells("code", story.story)
        registry.settles(services.settle_verified)
        registry.counts_codes(services.count_codes)
        registry.purges(services.purge_phones)
