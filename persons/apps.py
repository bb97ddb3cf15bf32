from functools import partial

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PersonsConfig(AppConfig):
    name = "persons"
    verbose_name = _("Personal data")

    def ready(self) -> None:
        """Registers the purge of expired exports."""
        from accounts import jobs  # noqa: PLC0415 - models come first
        from persons.models import CompanyExport  # noqa: PLC0415

        jobs.PURGERS.append(partial(jobs.purge_exports, CompanyExport))
