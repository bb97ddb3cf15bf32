from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class DeskConfig(AppConfig):
    name = "desk"


class DeskAdminConfig(AdminConfig):
    """Django's admin, on a site of ours."""

    default = False
    default_site = "desk.site.DeskSite"
