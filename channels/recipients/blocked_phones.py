"""Blocked phones, which receive nothing: a reply of STOP blocks the phone, START unblocks it.

The words are the defaults of carriers and vendors (https://help.twilio.com/articles/223134027), and
what people write in each language of the product. A message counts only if it contains nothing
else.
"""

import structlog
from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.db.models import Value
from django.db.models.functions import Concat, Left
from django.utils import timezone

from accounts.models import Mode
from catalogue.errors import DomainError, Error
from catalogue.languages import message_languages
from channels.models import BlockedPhone, Message
from channels.phone_numbers import e164_or_none, spellings
from channels.providers.inbound import AccountAlert, AlertKind, Reply
from channels.providers.vendors import vendor_of
from channels.recipients import vendor_user_ids
from channels.vendor_accounts import error_texts, vendor_alerts
from parsing import clipboard
from storage import advisory_locks, atomic_limits

log = structlog.get_logger(__name__)

REPEATED_FOR = 7 * 86_400  # seconds

_STOP = message_languages.words("stop")
_START = message_languages.words("start")


class BlockedPhoneError(DomainError):
    """The refusal of a send to a blocked phone."""

    def __init__(self) -> None:
        super().__init__(Error.RECIPIENT_UNREACHABLE)


def is_stop(text: str) -> bool:
    return clipboard.words(text) in _STOP


def is_start(text: str) -> bool:
    return clipboard.words(text) in _START


def apply_reply(provider: str, reply: Reply) -> set[str]:
    """Blocks the sender's phones on every channel after STOP, until START; returns those blocked.

    The person's last word counts if the vendor dates messages.
    """
    if is_stop(reply.text) or is_start(reply.text):
        return _apply_word(provider, reply)
    return set()


@transaction.atomic
def _apply_word(provider: str, reply: Reply) -> set[str]:
    if _is_late(provider, reply):
        return set()
    phones = _phones(provider, reply)
    if is_stop(reply.text):
        _block(provider, reply, phones)
        return phones
    count, _ = BlockedPhone.objects.filter(phone__in=phones, said_stop=True).delete()
    if count:
        log.info("phone_opted_in", provider=provider)
    return set()


def _is_late(provider: str, reply: Reply) -> bool:
    """Whether the person wrote another word after this one.

    Late calls occur: Meta repeats a failed call for seven days.
    """
    if reply.at is None:
        return False
    key = f"said:{vendor_of(provider)}:{atomic_limits.hashed(reply.sender)}"
    advisory_locks.lock(key)
    at = min(reply.at, timezone.now()).timestamp()
    if cache.get(key, 0.0) > at:
        return True
    cache.set(key, at, REPEATED_FOR)
    return False


def _block(provider: str, reply: Reply, phones: set[str]) -> None:
    reason = f"STOP, {error_texts.provider_title(provider)}"
    rows = [BlockedPhone(phone=phone, said_stop=True, reason=reason) for phone in phones]
    # One statement: between two, a START could lift the block that the first has found.
    BlockedPhone.objects.bulk_create(rows, ignore_conflicts=True)
    # The operator reads the reason before lifting their own block, which no START lifts.
    by_operator = BlockedPhone.objects.filter(phone__in=phones, said_stop=False)
    by_operator.exclude(reason__startswith=reason).update(
        reason=Left(Concat(Value(f"{reason}; "), "reason"), 200)
    )
    log.info("phone_opted_out", provider=provider, phones=len(phones))
    # A hidden phone, a short code, an e-mail gateway: the operator has to look at it.
    if not phones:
        unmatched = AccountAlert("stop_unmatched", reply.sender, AlertKind.WARNING)
        vendor_alerts.record(provider, unmatched)


def _phones(provider: str, reply: Reply) -> set[str]:
    """The phone that the vendor names, and the phone that we sent to, which may differ."""
    sent_to = vendor_user_ids.phone_of(provider, reply.sender)
    return set(filter(None, (_reported_phone(reply.phone), sent_to)))


def _reported_phone(written: str) -> str | None:
    """The phone that the vendor names; None if it is no phone.

    Digits without a plus are a national number or, as message centres often write it, an
    international one. Of two valid phones, the one that got a message counts.
    """
    national = e164_or_none(written, settings.OPERATOR_COUNTRY)
    if not written.isdecimal():
        return national
    international = e164_or_none(f"+{written}", "")
    if national and international:
        for phone in (national, international):
            if Message.objects.filter(phone__in=spellings(phone), mode=Mode.LIVE).exists():
                return phone
    return national or international
