"""History of codes for `channels`: counts, timelines, and the end of the retention of phones."""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, Exists, OuterRef, Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from catalogue.ids import first_id_at
from channels.extensions import BreakdownCount, TimelineEntry
from channels.models import Message
from links.manage import timeline as links_timeline
from otp import sql, unreported_codes
from otp.models import Verification
from storage.statements import sql_files
from storage.statements.queries import execute, select


def live_codes_by_key() -> Counter[str]:
    """The number of live codes that each of OTP_KEYS made."""
    oldest = timezone.now() - timedelta(seconds=settings.LONGEST_CODE_LIFETIME) - sql.CLOCK_SKEW
    live = Verification.objects.filter(
        id__gte=first_id_at(oldest), expires_at__gt=Now(), verified_at=None, superseded_at=None
    )
    return Counter(dict(live.values_list("key_id").annotate(codes=Count("id"))))


OLDEST_SETTLED = timedelta(days=8)  # longer than a message and its fallbacks may stay open


def _statements(messages: str, wallets: str = "true") -> dict[str, str]:
    return sql_files.read_several(
        "otp/history.sql",
        messages=messages,
        wallets=wallets,
        is_outcome_known=unreported_codes.KNOWN_AT_ITS_END,
        # Counts are kept forever, and no erasure changes them.
        purpose=sql.without_phone("verification.purpose", "message.phone"),
    )


_OF_COMPANY = _statements(
    "message.company_id = %(company_id)s AND message.mode = %(mode)s::text",
    "wallet.company_id = %(company_id)s",
)
_OF_ALL = _statements("message.id >= %(first_code)s AND message.id < %(last_id)s")


def count_breakdowns(
    *, start: datetime, end: datetime, company_id: int | None, mode: str | None
) -> Iterable[BreakdownCount]:
    """The counts of messages with codes and their steps; an `extensions.BreakdownCounter`."""
    params: dict[str, Any] = {
        "start": start,
        "end": end,
        "first_code": first_id_at(
            start - timedelta(seconds=settings.LONGEST_CODE_LIFETIME) - sql.CLOCK_SKEW
        ),
        "last_id": first_id_at(end + sql.CLOCK_SKEW),
        "first_message": first_id_at(start - OLDEST_SETTLED),
        "first_reported": first_id_at(start - OLDEST_SETTLED - unreported_codes.REPORTED_WITHIN),
        "company_id": company_id,
        "mode": mode,
    }
    statements = _OF_ALL if company_id is None else _OF_COMPANY
    yield from select(BreakdownCount, statements["steps"], params)
    if mode != "test":  # test keys spend no tokens
        yield from select(BreakdownCount, statements["settled"], params)


def with_purpose(purpose: str) -> Q:
    """The filter for messages whose code is for this purpose."""
    codes = Verification.objects.filter(pk=OuterRef("subject_id"), purpose=purpose)
    return Q(kind="code") & Q(Exists(codes))


def timeline_entries(message: Message) -> Iterator[TimelineEntry]:
    yield from links_timeline.entries(message)
    code = Verification.objects.filter(pk=message.subject_id).first()
    if code is None:
        return
    wrong = code.attempts - (code.verified_at is not None)
    if wrong and code.judged_at:
        text = ngettext("%(n)d wrong code entered", "%(n)d wrong codes entered", wrong)
        attempts_left = code.max_attempts - code.attempts
        detail = (
            "" if attempts_left or code.verified_at else _("No attempts are left: send a new code.")
        )
        yield TimelineEntry(code.judged_at, text % {"n": wrong}, "warning", detail)
    if code.verified_at:
        yield TimelineEntry(code.verified_at, _("The correct code was entered"), "success")
    elif code.expires_at <= timezone.now():
        yield TimelineEntry(code.expires_at, _("The code expired before it was entered"))


def anonymise_phones(limit: int) -> int:
    """Cuts the phones of old verifications to country code and prefix; returns the count."""
    return execute(sql.ANONYMISE_PHONES, [settings.PHONE_RETENTION, limit])
