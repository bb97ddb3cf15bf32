"""People who answer STOP, and those who change their mind: the one word that we heed of theirs.

The words are those that carriers and vendors take by default
(https://help.twilio.com/articles/223134027), and their like in Russian. Only a message that is
such a word and nothing else counts.
"""

import structlog

from channels import wording
from channels.models import BlockedPhone
from channels.phones import e164_or_none
from channels.providers.base import Reply

log = structlog.get_logger(__name__)

STOP = frozenset(
    [
        "stop",
        "stopall",
        "unsubscribe",
        "cancel",
        "end",
        "quit",
        "optout",
        "revoke",
        "стоп",
        "отписка",
        "отписаться",
        "отмена",
    ]
)
START = frozenset(["start", "unstop", "старт"])
_AROUND = " \t\r\n\0.,!?\"'«»()"


def heed(provider: str, reply: Reply) -> None:
    """Whoever said STOP is sent nothing more, by any channel, until they say START."""
    word = reply.text.strip(_AROUND).casefold()
    if word not in STOP | START:
        return
    phone = e164_or_none(reply.phone, country="")
    if phone is None:  # a short code, an e-mail gateway, a forged number of 500 digits
        log.warning("sender_is_no_phone", provider=provider)
    elif word in STOP:
        _, is_new = BlockedPhone.objects.get_or_create(
            phone=phone,
            defaults={"said_stop": True, "reason": f"STOP, {wording.provider_title(provider)}"},
        )
        if is_new:
            log.info("phone_opted_out", provider=provider)
    else:
        count, _ = BlockedPhone.objects.filter(phone=phone, said_stop=True).delete()
        if count:
            log.info("phone_opted_in", provider=provider)
