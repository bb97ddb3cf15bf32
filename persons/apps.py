from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PersonsConfig(AppConfig):
    name = "persons"
    verbose_name = _("Personal data")

    def ready(self) -> None:
        """Registers what is deleted after its time."""
        from channels import extensions  # noqa: PLC0415 - models come first
        from persons import company_export  # noqa: PLC0415

        extensions.purgers.append(company_export.purge)
