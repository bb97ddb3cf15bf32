"""What an operator enters to connect an account of each vendor, by the vendor's option names.

SMPP accounts have none: each lives in a process of its own, which the environment starts.
"""

from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from config.texts import StrOrPromise


@dataclass(frozen=True, slots=True)
class CredentialField:
    option: str
    label: StrOrPromise
    is_secret: bool = False  # never shown again
    is_ours: bool = False  # a word of our choice, which the vendor is told
    is_required: bool = True
    default: str = ""


FIELDS: dict[str, tuple[CredentialField, ...]] = {
    "whatsapp_cloud": (
        CredentialField("phone_number_id", _("Phone number ID")),
        CredentialField("business_account_id", _("WhatsApp Business Account ID")),
        CredentialField("token", _("Access token"), is_secret=True),
        CredentialField("app_secret", _("App secret"), is_secret=True),
        CredentialField("verify_token", _("Verify token of the webhook"), is_ours=True),
        CredentialField("code_template", _("Template of codes"), default="verification_code"),
        CredentialField("link_template", _("Template of links"), default="short_link"),
        CredentialField(
            "code_link_template", _("Template of codes with a link"), is_required=False
        ),
    ),
    "telegram_gateway": (CredentialField("token", _("API token"), is_secret=True),),
    "telegram_bot": (
        CredentialField("token", _("Token of the bot"), is_secret=True),
        CredentialField("username", _("Name of the bot, without @")),
        CredentialField("secret_token", _("Secret token of the webhook"), is_ours=True),
    ),
    "twilio": (
        CredentialField("account_sid", _("Account SID")),
        CredentialField("auth_token", _("Auth token"), is_secret=True),
        CredentialField("sender", _("Sender: a number, a name or a messaging service")),
    ),
    "smsc": (
        CredentialField(
            "login", _("Login; empty if the password is an API key"), is_required=False
        ),
        CredentialField("password", _("Password"), is_secret=True),
        CredentialField("sender", _("Sender's name"), is_required=False),
        CredentialField("callback_secret", _("Secret of the callback"), is_ours=True),
    ),
}
