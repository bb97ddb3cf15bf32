from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class IdentityHooksConfig(AppConfig):
    name = "identity_hooks"
    verbose_name = _("Identity servers")
