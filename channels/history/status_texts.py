"""The status sentence of an answer to a send: what was done, by which channel."""

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from channels.models import Message
from config.errors import StrOrPromise

CHANNEL_PHRASES = {"whatsapp": _("by WhatsApp"), "telegram": _("by Telegram"), "sms": _("by SMS")}
SENT_TEXTS = {"code": _("The code was sent {by}"), "link": _("The link was sent {by}")}
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
    return format_lazy(SENT_TEXTS[kind], by=CHANNEL_PHRASES[channel])
