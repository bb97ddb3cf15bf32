"""Opt-out: a reply of STOP blocks the phone, START unblocks it.

The keywords are the defaults of carriers and vendors (https://help.twilio.com/articles/223134027)
and their Russian equivalents. A message counts only if it is nothing but a keyword.
"""

import structlog
from django.conf import settings

from channels.models import BlockedPhone
from channels.phone_numbers import e164_or_none
from channels.providers.inbound import AccountAlert, AlertKind, Reply
from channels.recipients import vendor_user_ids
from channels.vendor_accounts import error_texts, vendor_alerts

log = structlog.get_logger(__name__)

STOP_WORDS = frozenset(
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
START_WORDS = frozenset(["start", "unstop", "старт"])
_STRIPPED = " \t\r\n\0.,!?\"'«»()"


def apply_reply(provider: str, reply: Reply) -> None:
    """Blocks the sender's phone on every channel after STOP, until START."""
    word = reply.text.strip(_STRIPPED).casefold()
    if word in STOP_WORDS:
        _block(provider, reply)
    elif word in START_WORDS:
        phones = _phones(provider, reply)
        count, _ = BlockedPhone.objects.filter(phone__in=phones, said_stop=True).delete()
        if count:
            log.info("phone_opted_in", provider=provider)


def _block(provider: str, reply: Reply) -> None:
    phones = _phones(provider, reply)
    reason = f"STOP, {error_texts.provider_title(provider)}"
    for phone in phones:
        defaults = {"said_stop": True, "reason": reason}
        _, is_new = BlockedPhone.objects.get_or_create(phone=phone, defaults=defaults)
        if is_new:
            log.info("phone_opted_out", provider=provider)
    if reply.user_id and not phones:
        unmatched = AccountAlert("stop_unmatched", reply.user_id, AlertKind.WARNING)
        vendor_alerts.record(provider, unmatched)


def _phones(provider: str, reply: Reply) -> set[str]:
    """The phone as the vendor writes it and as we sent to it, which may differ."""
    reported = e164_or_none(reply.phone, settings.OPERATOR_COUNTRY) if reply.phone else None
    if reply.phone and reported is None:  # a short code, an e-mail gateway, a forged number
        log.warning("opt_out_sender_not_a_phone", provider=provider)
    sent_to = vendor_user_ids.phone_of(provider, reply.user_id) if reply.user_id else ""
    return set(filter(None, (reported, sent_to)))
