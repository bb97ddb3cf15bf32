"""The setup steps of each vendor, in the terms of the vendor's own console.

Steps needed before the first send come first.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from channels.providers.whatsapp.checks import WEBHOOK_FIELDS
from channels.vendor_accounts import registry
from config.texts import StrOrPromise


@dataclass(frozen=True, slots=True)
class Snippet:
    """A text to copy to the vendor as it is."""

    label: StrOrPromise
    text: str


@dataclass(frozen=True, slots=True)
class Step:
    where: str  # the vendor's own names of pages, in its language
    what: StrOrPromise
    variables: tuple[str, ...] = ()  # of the environment, as the first account has them
    copies: tuple[Snippet, ...] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True)
class Guide:
    console: str
    steps: tuple[Step, ...]


ADDRESS = _("Webhook address")


def guide(name: str) -> Guide:
    """Returns the guide for an account by name, configured or not."""
    return _GUIDES[registry.vendor_of(name)](name)


def _whatsapp(name: str) -> Guide:
    version = settings.WHATSAPP["version"]
    fields = Snippet(_("Webhook fields"), ", ".join(WEBHOOK_FIELDS))
    graph = f"curl -X POST https://graph.facebook.com/{version}"
    bearer = '-H "Authorization: Bearer $WHATSAPP_TOKEN"'
    subscribe = f"{graph}/$WHATSAPP_BUSINESS_ACCOUNT_ID/subscribed_apps {bearer}"
    register = f"{graph}/$WHATSAPP_PHONE_NUMBER_ID/register {bearer} "
    register += "-d messaging_product=whatsapp -d pin=PIN"
    return Guide(
        "https://developers.facebook.com/apps/",
        (
            Step(
                "Meta for Developers → My Apps → Create app → Use cases → WhatsApp → API Setup",
                _(
                    "Create an app in the business portfolio that will send, and open its API "
                    "setup."
                ),
                ("WHATSAPP_PHONE_NUMBER_ID", "WHATSAPP_BUSINESS_ACCOUNT_ID"),
            ),
            Step(
                "App settings → Basic → App secret",
                _("Receipts are signed with the app secret: without it none is accepted."),
                ("WHATSAPP_APP_SECRET",),
            ),
            Step(
                "Meta Business Suite → Settings → Users → System users → Generate token",
                _(
                    "Create a system user, assign it the app and the WhatsApp account with full "
                    "control, and generate a token that never expires, with "
                    "whatsapp_business_messaging and whatsapp_business_management."
                ),
                ("WHATSAPP_TOKEN",),
            ),
            Step(
                "WhatsApp Manager → Phone numbers",
                _(
                    "Add the number, verify it, have its display name approved, and register it "
                    "with a PIN of six digits: its status must be Connected."
                ),
                copies=(Snippet(_("Register the number"), register),),
            ),
            Step(
                "Use cases → Customize → Configuration → Webhook",
                _(
                    "Restart the service with a verify token of your choice first, then give Meta "
                    "the address and the same token, and subscribe to every one of the fields."
                ),
                ("WHATSAPP_VERIFY_TOKEN",),
                (Snippet(ADDRESS, registry.hook_url(name)), fields),
            ),
            Step(
                "Graph API → subscribed_apps",
                _(
                    "Subscribe the app to the WhatsApp account: otherwise no receipts arrive, even "
                    "though the webhook is set."
                ),
                copies=(Snippet(_("Subscribe the app"), subscribe),),
            ),
            Step(
                "WhatsApp Manager → Message templates → Create template",
                _(
                    "Create each template in both languages, worded as in the operator's guide, "
                    "and wait until Meta approves them. The link's button leads to the address "
                    "below."
                ),
                (
                    "WHATSAPP_CODE_TEMPLATE",
                    "WHATSAPP_LINK_TEMPLATE",
                    "WHATSAPP_CODE_LINK_TEMPLATE",
                    "WHATSAPP_LANGUAGES",
                ),
                (Snippet(_("Address of the link's button"), f"{settings.SHORT_URL}/{{{{1}}}}"),),
            ),
            Step(
                "Meta Business Suite → Settings → Security Centre; Billing & payments",
                _(
                    "Verify the business and add a way to pay: authentication templates need the "
                    "first, and messages beyond the free ones the second."
                ),
            ),
        ),
    )


def _telegram_gateway(name: str) -> Guide:
    return Guide(
        "https://gateway.telegram.org/account",
        (
            Step(
                "Telegram Gateway → Account → API token",
                _("Sign in with your phone and copy the token."),
                ("TELEGRAM_GATEWAY_TOKEN",),
            ),
            Step(
                "Telegram Gateway → Account → Add funds",
                _("Add funds. Codes to the phone you signed in with are free, so use it to try."),
            ),
            Step(
                "Telegram Gateway",
                _(
                    "There is no address to set: each message names it. Telegram must be able to "
                    "reach it from the internet."
                ),
                copies=(Snippet(ADDRESS, registry.hook_url(name)),),
            ),
        ),
    )


def _telegram_bot(name: str) -> Guide:
    command = (
        "curl https://api.telegram.org/bot$TELEGRAM_BOT_TOKEN/setWebhook "
        f"-d url={registry.hook_url(name)} -d secret_token=$TELEGRAM_BOT_SECRET "
        '-d allowed_updates=\'["message","my_chat_member"]\''
    )
    return Guide(
        "https://t.me/BotFather",
        (
            Step(
                "@BotFather → /newbot",
                _("Create the bot; its name without @ goes into the settings too."),
                ("TELEGRAM_BOT_TOKEN", "TELEGRAM_BOT_USERNAME"),
            ),
            Step(
                "@BotFather → /setjoingroups → Disable",
                _("The bot works in private chats only."),
            ),
            Step(
                "Bot API → setWebhook",
                _(
                    "Choose a secret of 1 to 256 letters, digits, _ and -, and give it to Telegram "
                    "once, with the address."
                ),
                ("TELEGRAM_BOT_SECRET",),
                (Snippet(ADDRESS, registry.hook_url(name)), Snippet(_("Set the webhook"), command)),
            ),
        ),
    )


def _twilio(name: str) -> Guide:
    return Guide(
        "https://console.twilio.com/",
        (
            Step(
                "Twilio Console → Account Dashboard → Account Info",
                _("Copy the account's SID and its auth token, which also signs the receipts."),
                ("TWILIO_ACCOUNT_SID", "TWILIO_AUTH_TOKEN"),
            ),
            Step(
                "Admin → Account billing → Upgrade; Auto-recharge",
                _("Upgrade the account: a trial one sends to verified phones only."),
            ),
            Step(
                "Phone Numbers → Buy a number; Messaging → Services → Sender Pool",
                _(
                    "Get a sender that the country takes: a number with its plus, a name where "
                    "names are allowed, or a messaging service (MG…) with senders in its pool."
                ),
                ("TWILIO_FROM",),
            ),
            Step(
                "Messaging → Settings → Geo permissions",
                _("Tick every country that you send to. A new account has only its own."),
            ),
            Step(
                "Phone Numbers → Active numbers → Messaging → A message comes in",
                _(
                    "For STOP: Webhook, the address below, HTTP POST. Receipts need nothing, for "
                    "each message names the same address."
                ),
                copies=(Snippet(ADDRESS, registry.hook_url(name)),),
            ),
        ),
    )


def _smsc(name: str) -> Guide:
    return Guide(
        "https://smsc.ru/",
        (
            Step(
                "Настройки → Пароли и авторизация",
                _(
                    "Create a password for the API (or a key, and leave the login empty), and "
                    "allow this server's address if the account lists addresses."
                ),
                ("SMSC_LOGIN", "SMSC_PASSWORD"),
            ),
            Step(
                "Отправители",
                _("Have the sender's name approved, with each operator that asks for it."),
                ("SMSC_SENDER",),
            ),
            Step("Оплата", _("Top up the balance and set up the low-balance reminder.")),
            Step(
                "Настройки → Обработчик (callback)",
                _("Give the address for statuses, by POST, and a secret of your choice."),
                ("SMSC_CALLBACK_SECRET",),
                (
                    Snippet(ADDRESS, f"{registry.hook_url(name)}?md5&charset=utf-8"),
                    Snippet(
                        _("The same, signed with sha1"),
                        f"{registry.hook_url(name)}?sha1&charset=utf-8",
                    ),
                ),
            ),
        ),
    )


def _smpp(_name: str) -> Guide:
    return Guide(
        "",
        (
            Step(
                "SMPP",
                _("Ask the vendor for the address, for TLS, for the login and for the sender."),
                (
                    "SMPP_HOST",
                    "SMPP_PORT",
                    "SMPP_TLS",
                    "SMPP_SYSTEM_ID",
                    "SMPP_PASSWORD",
                    "SMPP_SOURCE",
                ),
            ),
            Step(
                "SMPP",
                _(
                    "Also ask how many messages may be unanswered at once, and which alphabet "
                    "data_coding 0 means. The operator's guide lists the other questions."
                ),
                ("SMPP_WINDOW", "SMPP_ALPHABET"),
            ),
            Step(
                "manage.py run_smpp",
                _("Start its process. There is no address to set: receipts arrive over the bind."),
            ),
        ),
    )


_GUIDES: dict[str, Callable[[str], Guide]] = {
    "whatsapp_cloud": _whatsapp,
    "telegram_gateway": _telegram_gateway,
    "telegram_bot": _telegram_bot,
    "smpp": _smpp,
    "twilio": _twilio,
    "smsc": _smsc,
}
