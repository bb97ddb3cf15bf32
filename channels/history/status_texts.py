"""The status sentence of an answer to a send: what was done, by which channel."""

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from channels.models import Message
from config.texts import StrOrPromise

SENT_TEXTS = {
    ("code", "whatsapp"): _("The code was sent by WhatsApp"),
    ("code", "telegram"): _("The code was sent by Telegram"),
    ("code", "sms"): _("The code was sent by SMS"),
    ("link", "whatsapp"): _("The link was sent by WhatsApp"),
    ("link", "telegram"): _("The link was sent by Telegram"),
    ("link", "sms"): _("The link was sent by SMS"),
}
QUEUED_TEXTS = {
    "code": _("The code is queued: {channel}"),
    "link": _("The link is queued: {channel}"),
}


def status_text(kind: str, channel: str, state: str) -> StrOrPromise:
    """“The code was sent by WhatsApp” once the vendor has accepted it, before that “The code is
    queued: WhatsApp”.
    """
    if state == Message.State.QUEUED:
        return format_lazy(QUEUED_TEXTS[kind], channel=Message.ChannelName(channel).label)
    return SENT_TEXTS[kind, channel]
