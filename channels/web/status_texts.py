"""The text about a send's message: “The code was sent by WhatsApp”, or that it is queued.

The sentences are declared with the channels in `catalogue.channels`.
"""

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from catalogue.channels import by_stored_name
from catalogue.texts import StrOrPromise
from channels.models import Message

QUEUED_TEXTS = {
    "code": _("The code is queued: {channel}"),
    "link": _("The link is queued: {channel}"),
}


def status_text(kind: str, channel: str, state: str) -> StrOrPromise:
    """The sentence about a send in this state.

    It is “The code was sent by WhatsApp” once the vendor has accepted it, and “The code is queued:
    WhatsApp” before that.
    """
    declared = by_stored_name(channel)
    if state == Message.State.QUEUED:
        return format_lazy(QUEUED_TEXTS[kind], channel=declared.title)
    return declared.code_sent if kind == Message.Kind.CODE else declared.link_sent
