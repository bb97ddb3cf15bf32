"""Takes a company's reports about its custom codes: which were entered.

The company that made a code checks it. Its report proves the delivery, as a right derived code
does, and gives the guard and the router an outcome that they cannot observe themselves.
"""

from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Least, Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.keys.principal import Principal
from catalogue.errors import DomainError, Error, invalid_input
from channels.models import Message
from channels.waiting import wakeups
from otp import codes, verifications
from otp.check.check import VerifiedCode, check_code
from otp.models import Verification
from storage.statements.single_statement import after_commit

REPORT_WINDOW = timedelta(days=1)  # from the creation of the code; `unreported_codes` relies on it
TOO_LATE = _("Report a code within a day after it was made")
NOT_OWN = _("The service made this code: check it with POST /otp/verify")


def report_entered(
    principal: Principal,
    *,
    message_id: UUID | None = None,
    verification_id: UUID | None = None,
    phone: str = "",
    purpose: str = "",
    code: str = "",
) -> VerifiedCode:
    """Records that a custom code was entered.

    The code is found by the id of a message or a verification, else by phone, purpose and code,
    where a wrong code spends an attempt. A repeated report changes nothing. Raises the refusals of
    a check.
    """
    if message_id is not None:
        message = Message.objects.filter(pk=message_id, kind=Message.Kind.CODE).first()
        if message is None:
            raise DomainError(Error.NOT_FOUND)
        return _by_id(principal, message.subject_id)
    if verification_id is not None:
        return _by_id(principal, verification_id)
    return _by_code(principal, phone, purpose, code)


def is_custom_code(
    principal: Principal, *, phone: str, purpose: str, verification_id: UUID | None
) -> bool:
    """Whether the company made the code that a check would compare."""
    row = _newest_verification(principal, phone, purpose, verification_id)
    return row is not None and row.is_custom


def _by_id(principal: Principal, verification_id: UUID) -> VerifiedCode:
    rows = verifications.for_principal(principal)
    with transaction.atomic():
        verification = verifications.row_of(rows.select_for_update(no_key=True), verification_id)
        _require_own(verification, "id")
        if verification.verified_at is None:
            # Older codes are history: counted already, and archived at some time.
            if timezone.now() - verification.created_at > REPORT_WINDOW:
                raise DomainError(Error.CODE_EXPIRED, message=TOO_LATE)
            # The system that checks the code has accepted it. Neither its end here nor our count of
            # wrong codes contradicts that. The code is settled again, whatever it was settled as.
            rows.filter(pk=verification_id).update(
                verified_at=Now(),
                judged_at=Now(),
                attempts=Least(F("attempts") + 1, F("max_attempts")),
                settled_at=None,
            )
            after_commit(wakeups.wake_workers)
    verification.refresh_from_db()
    return _as_verified(verification)


def _by_code(principal: Principal, phone: str, purpose: str, code: str) -> VerifiedCode:
    verification = _newest_verification(principal, phone, purpose)
    if verification is None:
        return check_code(principal=principal, phone=phone, purpose=purpose, code=code)
    _require_own(verification, "phone")
    try:
        return check_code(
            principal=principal,
            verification_id=verification.pk,
            code=code,
            binding=verification.binding,
        )
    except DomainError as error:
        # The code is compared only once it is used up. The refusal is counted like any other: it is
        # no oracle.
        if error.error is Error.CODE_USED and _has_code(verification, code):
            verification.refresh_from_db()
            return _as_verified(verification)
        raise


def _newest_verification(
    principal: Principal, phone: str, purpose: str, verification_id: UUID | None = None
) -> Verification | None:
    rows = verifications.for_principal(principal)
    if verification_id is not None:
        return rows.filter(pk=verification_id).first()
    return rows.filter(phone=phone, purpose=purpose, superseded_at=None).order_by("-pk").first()


def _require_own(verification: Verification, field: str) -> None:
    if not verification.is_custom:
        raise invalid_input(**{field: NOT_OWN})


def _has_code(verification: Verification, code: str) -> bool:
    return bytes(verification.mac) in codes.candidate_macs(
        company_id=verification.company_id,
        mode=verification.mode,
        phone=verification.phone,
        purpose=verification.purpose,
        code=code,
    )


def _as_verified(verification: Verification) -> VerifiedCode:
    assert verification.verified_at is not None  # noqa: S101 - for the type
    return VerifiedCode(
        verification.pk, verification.verified_at, verification.phone, verification.purpose
    )
