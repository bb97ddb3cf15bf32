"""Invitations to our Telegram bot: the link that lets it write to a person, and its QR code."""

from typing import Any
from uuid import UUID

import segno
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from channels.models import Attempt
from channels.providers.telegram.bot import TelegramBot
from channels.vendor_accounts import registry

MESSAGE = _(
    "The recipient has not let the bot write to them on Telegram. Have them open {url} and share "
    "their number, then send again"
)


def bot_url() -> str:
    """Empty if no bot is configured or the settings lack its username."""
    return _url_of("telegram_bot")


def url_if_unreachable(message_id: UUID) -> str:
    """The link if the last attempt was by the bot and could not reach the person, else empty."""
    last = Attempt.objects.filter(message_id=message_id).order_by("-n").first()
    return _url_of(last.provider) if last and last.error_class == "unreachable" else ""


def error_fields(message_id: UUID) -> dict[str, Any]:
    """Fields to add to the API's error: a message of its own and `action_url`."""
    url = url_if_unreachable(message_id)
    if not url:
        return {}
    return {"message": format_lazy(MESSAGE, url=url), "action_url": url}


def qr_code(url: str) -> str:
    """As a data: URI."""
    code = segno.make(url, error="m")
    return str(code.svg_data_uri(border=2, dark="#000", light="#fff"))


def _url_of(provider: str) -> str:
    bot = registry.live_providers().get(provider)
    return bot.contact_url if isinstance(bot, TelegramBot) else ""
