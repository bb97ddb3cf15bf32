"""Finds, lists and cancels a company's verifications; never shows a code."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.keys.principal import Principal
from catalogue.errors import DomainError, Error
from catalogue.ids import ids_around
from channels.models import Message, MessageQuerySet
from channels.outcomes import transitions
from otp import sql
from otp.check import settlement
from otp.models import Verification

ALREADY_ENTERED = _("The code was entered already: what is verified cannot be canceled")


class State(StrEnum):
    PENDING = "pending"
    VERIFIED = "verified"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"  # superseded by a newer code for the same phone and purpose
    EXHAUSTED = "exhausted"  # out of attempts


@dataclass(frozen=True, slots=True)
class FoundVerification:
    id: UUID
    phone: str  # E.164; only a prefix for an old verification
    purpose: str
    mode: str
    state: State
    created_at: datetime
    expires_at: datetime
    attempts: int  # attempts so far, including the correct one
    attempts_left: int  # 0 if it is not pending
    verified_at: datetime | None
    binding: Mapping[str, Any] | None
    is_custom: bool  # the company made the code
    length: int  # of the code
    reference: str  # of the newest message, like the metadata
    metadata: Mapping[str, str] | None
    messages: Sequence[Message]  # oldest first


def find(principal: Principal, verification_id: UUID) -> FoundVerification:
    """The verification with its messages.

    Raises not_found for another company's or mode's verification, and for another purpose if the
    key has one.
    """
    (verification,) = with_messages([row_of(for_principal(principal), verification_id)])
    return verification


def row_of(rows: QuerySet[Verification], verification_id: UUID) -> Verification:
    """The row with this id; raises not_found."""
    row = rows.filter(pk=verification_id).first()
    if row is None:
        raise DomainError(Error.NOT_FOUND)
    return row


def select_by_message(message: Message) -> QuerySet[Verification]:
    """Selects the verification whose code the message carried, if it is still stored."""
    return Verification.objects.filter(pk=message.subject_id, company_id=message.company_id)


def find_by_message(principal: Principal, message_id: UUID | None) -> FoundVerification:
    """The verification whose code the message carried; raises not_found like `find`."""
    messages = own_messages(principal).filter(kind=Message.Kind.CODE, pk__in=[message_id])
    subject_id = messages.values_list("subject_id", flat=True).first()
    if subject_id is None:
        raise DomainError(Error.NOT_FOUND)
    return find(principal, subject_id)


def newest_to_phone(principal: Principal, phone: str, reference: str) -> UUID | None:
    """The id of the phone's newest verification of the key's purpose, and of a given reference."""
    messages = listed(principal, purpose=principal.purpose, reference=reference).filter(phone=phone)
    return messages.order_by("-created_at").values_list("subject_id", flat=True).first()


def find_live(principal: Principal, phone: str, purpose: str) -> FoundVerification | None:
    """The verification whose code can be entered now."""
    rows = for_principal(principal).filter(IN_STATE[State.PENDING], phone=phone, purpose=purpose)
    newest = rows.order_by("-id").first()
    return with_messages([newest])[0] if newest else None


def cancel(principal: Principal, verification_id: UUID) -> FoundVerification:
    """Invalidates a live code and cancels its messages; leaves an ended code as it is.

    Raises code_used if the code was entered, even while this runs.
    """
    rows = for_principal(principal).filter(pk=verification_id)
    with transaction.atomic():
        # The row lock decides between this and a concurrent guess.
        is_cancelled = rows.filter(IN_STATE[State.PENDING]).update(
            cancelled_at=Now(), superseded_at=Now(), settled_at=Now()
        )
        with connection.cursor() as cursor:
            ids = [verification_id] if is_cancelled else []
            decisions = settlement.end_links_and_messages(cursor, ids) if ids else []
    transitions.announce(decisions)
    verification = find(principal, verification_id)
    if verification.state is State.VERIFIED:
        raise DomainError(Error.CODE_USED, message=ALREADY_ENTERED)
    return verification


def listed(
    principal: Principal, *, purpose: str = "", reference: str = "", state: str = ""
) -> QuerySet[Message]:
    """The list of verifications, as one message of each: the first, or the first with a reference.

    Verifications have no index that a list could follow.
    """
    messages = own_messages(principal).filter(kind=Message.Kind.CODE)
    verifications = Verification.objects.filter(pk=OuterRef("subject_id"))
    if reference:
        messages = messages.with_stored({"reference": reference})
        earlier = messages.filter(subject_id=OuterRef("subject_id"), pk__lt=OuterRef("pk"))
        messages = messages.filter(~Exists(earlier))
    else:  # filtered only by the id, which selects the month's table
        verifications = verifications.filter(created_at__gte=OuterRef("created_at"))
    verifications = verifications.filter(purpose=purpose) if purpose else verifications
    verifications = verifications.filter(IN_STATE[State(state)]) if state else verifications
    return messages.filter(Exists(verifications))


def own_messages(principal: Principal) -> MessageQuerySet:
    return Message.objects.filter(company_id=principal.company_id, mode=principal.mode)


def of_messages(messages: Iterable[Message]) -> list[FoundVerification]:
    """The verifications of these messages, in the order of the messages."""
    ids = [message.subject_id for message in messages]
    rows = Verification.objects.filter(pk__in=ids)
    by_id = {verification.id: verification for verification in with_messages(rows)}
    return [by_id[verification_id] for verification_id in ids if verification_id in by_id]


def for_principal(principal: Principal) -> QuerySet[Verification]:
    rows = Verification.objects.filter(company_id=principal.company_id, mode=principal.mode)
    return rows.filter(purpose=principal.purpose) if principal.purpose else rows


# Repeats `_state` for lists.
_ENDS_LATER = Q(expires_at__gt=Now())
_REPLACED = Q(superseded_at__lt=F("expires_at"))
_EXHAUSTED = Q(attempts__gte=F("max_attempts"))
_NOT_ENTERED = Q(verified_at=None)
_LEFT = _NOT_ENTERED & Q(cancelled_at=None) & ~_EXHAUSTED
_NOT_REPLACED = Q(superseded_at=None) | Q(superseded_at__gte=F("expires_at"))
IN_STATE = {
    State.VERIFIED: Q(verified_at__isnull=False),
    State.CANCELLED: _NOT_ENTERED & Q(cancelled_at__isnull=False),
    State.EXHAUSTED: _NOT_ENTERED & Q(cancelled_at=None) & _EXHAUSTED,
    State.SUPERSEDED: _LEFT & _REPLACED,
    State.EXPIRED: _LEFT & _NOT_REPLACED & ~_ENDS_LATER,
    State.PENDING: _LEFT & Q(superseded_at=None) & _ENDS_LATER,
}


def _state(row: Verification) -> State:
    if row.verified_at is not None:
        return State.VERIFIED
    if row.cancelled_at is not None:
        return State.CANCELLED
    if row.attempts >= row.max_attempts:
        return State.EXHAUSTED
    if row.superseded_at is not None and row.superseded_at < row.expires_at:
        return State.SUPERSEDED
    return State.PENDING if row.expires_at > timezone.now() else State.EXPIRED


def with_messages(rows: Iterable[Verification]) -> list[FoundVerification]:
    rows = list(rows)
    sent: dict[UUID, list[Message]] = defaultdict(list)
    for message in Message.objects.filter(messages_with_codes(rows)).order_by("created_at", "id"):
        sent[message.subject_id].append(message)
    return [_found_verification(row, sent[row.pk]) for row in rows]


def messages_with_codes(rows: Sequence[Verification]) -> Q:
    """The filter for messages with these codes, limited to the months of the codes."""
    if not rows:
        return Q(pk__in=[])
    longest = max(row.expires_at - row.created_at for row in rows)
    ids = [row.pk for row in rows]
    return Q(subject_id__in=ids, pk__range=ids_around(min(ids), max(ids), longest + sql.CLOCK_SKEW))


def _found_verification(row: Verification, messages: Sequence[Message]) -> FoundVerification:
    newest = messages[-1] if messages else None
    state = _state(row)
    return FoundVerification(
        id=row.pk,
        phone=row.phone,
        purpose=row.purpose,
        mode=row.mode,
        state=state,
        created_at=row.created_at,
        expires_at=row.expires_at,
        attempts=row.attempts,
        attempts_left=row.max_attempts - row.attempts if state is State.PENDING else 0,
        verified_at=row.verified_at,
        binding=row.binding,
        is_custom=row.is_custom,
        length=row.length,
        reference=newest.reference if newest else "",
        metadata=newest.params.get("metadata") if newest else None,
        messages=messages,
    )
