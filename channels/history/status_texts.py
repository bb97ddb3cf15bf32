"""The status sentence of an answer to a send: what was done, by which channel."""

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from channels.models import Message
from config.channels import of_row
from config.texts import StrOrPromise

QUEUED_TEXTS = {
    "code": _("The code is queued: {channel}"),
    "link": _("The link is queued: {channel}"),
}


def status_text(kind: str, channel: str, state: str) -> StrOrPromise:
    """“The code was sent by WhatsApp” once the vendor has accepted it, before that “The code is
    queued: WhatsApp”.
    """
    declared = of_row(channel)
    if state == Message.State.QUEUED:
        return format_lazy(QUEUED_TEXTS[kind], channel=declared.title)
    return declared.code_sent if kind == Message.Kind.CODE else declared.link_sent
