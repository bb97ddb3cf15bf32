from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CompatConfig(AppConfig):
    name = "compat"
    verbose_name = _("Clients of other services")

    def ready(self) -> None:
        """Registers whose bodies are received, and how `api` words what it refuses early."""
        from api import admission  # noqa: PLC0415 - models are not loaded before this
        from compat.admission import DOOR, PREFIX  # noqa: PLC0415

        admission.register_door(PREFIX, DOOR)
