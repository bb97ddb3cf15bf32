from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class IdentityHooksConfig(AppConfig):
    name = "identity_hooks"
    verbose_name = _("Identity servers")

    def ready(self) -> None:
        """Registers the entry point with its early refusals, and the kinds' titles."""
        from api import body_admission  # noqa: PLC0415 - models are not loaded before this
        from channels import extensions  # noqa: PLC0415
        from identity_hooks.kinds import kinds  # noqa: PLC0415
        from identity_hooks.web.hook_view import ENTRY_POINT, PREFIX  # noqa: PLC0415

        extensions.doors |= {name: kind.title for name, kind in kinds().items()}
        body_admission.register_entry_point(PREFIX, ENTRY_POINT)
