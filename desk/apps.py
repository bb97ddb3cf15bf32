from django.apps import AppConfig
from django.contrib.admin import site
from django.contrib.admin.apps import SimpleAdminConfig
from django.utils.module_loading import autodiscover_modules


class DeskConfig(AppConfig):
    name = "desk"


class DeskAdminConfig(SimpleAdminConfig):
    """Django's admin, on a site of ours."""

    default = False
    default_site = "desk.site.DeskSite"

    def ready(self) -> None:
        super().ready()
        for module in ("admin", "web.admin", "operator.admin"):
            autodiscover_modules(module, register_to=site)
