from django.apps import AppConfig
from django.contrib.admin import site
from django.contrib.admin.apps import SimpleAdminConfig
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _


class OperatorAdminConfig(AppConfig):
    name = "operator_admin"
    verbose_name = _("Admin")


class OperatorAdminSiteConfig(SimpleAdminConfig):
    """Django's admin with our `AdminSite`."""

    default = False
    default_site = "operator_admin.site.OperatorAdminSite"

    def ready(self) -> None:
        super().ready()
        autodiscover_modules("admin", register_to=site)
