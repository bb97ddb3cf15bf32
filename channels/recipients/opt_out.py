"""Opt-out: a reply of STOP blocks the phone, START unblocks it.

The words are the defaults of carriers and vendors (https://help.twilio.com/articles/223134027),
and what people write in each language of the product. A message counts only if it is nothing else.
"""

import structlog
from django.conf import settings

from channels.models import BlockedPhone
from channels.phone_numbers import e164_or_none
from channels.providers.inbound import AccountAlert, AlertKind, Reply
from channels.recipients import vendor_user_ids
from channels.vendor_accounts import error_texts, vendor_alerts
from parsing import clipboard

log = structlog.get_logger(__name__)

# As `clipboard.words` writes them. Languages share them: a person may answer in any.
STOP_WORDS = {
    "en": (
        *("stop", "stopall", "stop all", "unsubscribe", "unsubscribe all", "cancel", "end", "quit"),
        *("optout", "opt out", "opt me out", "revoke", "remove", "remove me", "stop sms"),
        *("stop texting", "stop texting me", "stop sending", "stop messages", "stop please"),
        *("please stop", "no more", "no more messages", "stop it", "unsubscribe me"),
    ),
    "ru": (
        *("стоп", "стоп все", "стоп всё", "стоп смс", "stop смс", "отписка", "отпиши", "отпишите"),
        *("отписать", "отписаться", "отпиши меня", "отпишите меня", "отмена", "отменить"),
        *("отказ", "отказываюсь", "отказаться", "хватит", "прекрати", "прекратите", "прекратить"),
        *("отключить", "отключи", "отключите", "не пиши", "не пишите", "не писать"),
        *("больше не пишите", "не пишите больше", "не присылать", "не присылайте"),
        *("больше не присылайте", "не присылайте больше", "удалите меня"),
        *("стоп рассылка", "отписаться от рассылки", "отпишите от рассылки"),
        *("отпишите меня от рассылки", "отменить подписку", "отмена подписки", "стоп пожалуйста"),
    ),
}
START_WORDS = {
    "en": ("start", "unstop", "resume", "subscribe", "optin", "opt in", "opt me in"),
    "ru": ("старт", "подписка", "подписаться", "подпишите", "возобновить", "возобновите", "начать"),
}
_STOP = frozenset(word for group in STOP_WORDS.values() for word in group)
_START = frozenset(word for group in START_WORDS.values() for word in group)


def is_stop(text: str) -> bool:
    return clipboard.words(text) in _STOP


def is_start(text: str) -> bool:
    return clipboard.words(text) in _START


def apply_reply(provider: str, reply: Reply) -> None:
    """Blocks the sender's phone on every channel after STOP, until START."""
    if is_stop(reply.text):
        _block(provider, reply)
    elif is_start(reply.text):
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
    if not phones:  # a hidden phone, a short code, an e-mail gateway: the operator has to look
        unmatched = AccountAlert("stop_unmatched", reply.sender, AlertKind.WARNING)
        vendor_alerts.record(provider, unmatched)


def _phones(provider: str, reply: Reply) -> set[str]:
    """The phone that the vendor names, and the one we sent to, which may differ."""
    reported = e164_or_none(reply.phone, settings.OPERATOR_COUNTRY) if reply.phone else None
    sent_to = vendor_user_ids.phone_of(provider, reply.sender)
    return set(filter(None, (reported, sent_to)))
