from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CompatConfig(AppConfig):
    name = "compat"
    verbose_name = _("Clients of other services")

    def ready(self) -> None:
        """Registers which bodies are received, how others are refused, and the dialects' titles."""
        from api import body_admission  # noqa: PLC0415 - models are not loaded before this
        from channels import extensions  # noqa: PLC0415
        from compat.dialect import dialects  # noqa: PLC0415
        from compat.view import ENTRY_POINT, PREFIX  # noqa: PLC0415

        extensions.doors |= {name: dialect.title for name, dialect in dialects().items()}
        body_admission.register_entry_point(PREFIX, ENTRY_POINT)
