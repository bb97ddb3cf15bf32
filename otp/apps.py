from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class OtpConfig(AppConfig):
    name = "otp"
    verbose_name = _("Codes")

    def ready(self) -> None:
        """Registers how `channels` renders, explains, settles, reports, counts and anonymises
        codes, and how `accounts` loads a company's own texts; declares the event of webhooks.
        """
        from accounts.keys import principal  # noqa: PLC0415 - models are not loaded before this
        from channels import extensions  # noqa: PLC0415
        from otp import history, sealed_codes  # noqa: PLC0415
        from otp.check import settlement  # noqa: PLC0415
        from otp.protection import guard_evidence, notifications  # noqa: PLC0415
        from otp.statistics import savings_count  # noqa: PLC0415
        from otp.texts import own_texts, rendering  # noqa: PLC0415
        from otp.web import calls, search_sources  # noqa: PLC0415
        from webhooks import events  # noqa: PLC0415

        principal.register_column(principal.TextsColumn(own_texts.COLUMN, own_texts.parse))
        extensions.codes = history
        extensions.sealed_codes = sealed_codes.find
        extensions.renderers["code"] = rendering.render
        extensions.timelines["code"] = history.timeline_entries
        extensions.settlers.append(settlement.settle_verified)
        extensions.vendor_calls.append(settlement.report_entered)
        extensions.purgers += [history.purge_phones, guard_evidence.purge, savings_count.purge]
        search_sources.register()
        notifications.register_audit_words()
        events.declare(*calls.EVENTS)
