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
        from channels.extensions import MessageKind, register  # noqa: PLC0415
        from links.manage import timeline  # noqa: PLC0415
        from otp import history, sealed_codes  # noqa: PLC0415
        from otp.check import settlement  # noqa: PLC0415
        from otp.protection import guard_evidence, notifications  # noqa: PLC0415
        from otp.statistics import savings_count  # noqa: PLC0415
        from otp.texts import own_texts, rendering  # noqa: PLC0415
        from otp.web import calls, search_sources  # noqa: PLC0415
        from webhooks import events  # noqa: PLC0415

        principal.register_column(principal.TextsColumn(own_texts.COLUMN, own_texts.parse))
        register(
            MessageKind(
                name="code",
                render=rendering.render,
                timeline=history.timeline_entries,
                opened_at=timeline.opened_at,
                purgers=[history.anonymise_phones, guard_evidence.purge, savings_count.purge],
                settle=settlement.settle_verified,
                report=settlement.report_entered,
                find_custom_codes=sealed_codes.find,
                count_breakdowns=history.count_breakdowns,
                with_purpose=history.with_purpose,
            )
        )
        search_sources.register()
        notifications.register_audit_words()
        events.declare(*calls.EVENTS)
