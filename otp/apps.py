from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class OtpConfig(AppConfig):
    name = "otp"
    verbose_name = _("Codes")
