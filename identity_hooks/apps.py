from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class IdentityHooksConfig(AppConfig):
    name = "identity_hooks"
    verbose_name = _("Identity servers")

    def ready(self) -> None:
        """Registers whose bodies are received, and how early refusals are worded."""
        from api import admission  # noqa: PLC0415 - models are not loaded before this
        from identity_hooks.web.admission import DOOR, PREFIX  # noqa: PLC0415

        admission.register_door(PREFIX, DOOR)
