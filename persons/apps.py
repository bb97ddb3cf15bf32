from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PersonsConfig(AppConfig):
    name = "persons"
    verbose_name = _("Personal data")
