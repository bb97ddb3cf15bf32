"""The outcomes of recent codes for the guard: entered, missed or still awaited.

An outcome follows only from the times of the message and its code, so that each outcome falls into
exactly one interval `(since, until]`, whenever it is read. Rows written more than `LAG` after their
time may be left out.

Only the newest message of a code counts: a person who asks three times and enters once has entered
one code. Excluded are:
- codes with a link: a person who follows it need not enter the code;
- custom codes as missed or awaited, unless the company reports entered codes, because they are
  entered elsewhere;
- codes of known phones that the guard always lets pass: their correct codes would hide an attack on
  neighbouring numbers.
"""

from collections.abc import Iterable, Iterator, Set
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings

from catalogue.ids import first_id_at
from channels.guard.guard import MATURITY, MAX_DELIVERY_SECONDS
from channels.guard.scope_evidence import COUNTED_OF_PHONE, KNOWN_CODES, PHONE_WINDOW
from otp.protection import known_phones
from otp.protection.known_phones import Send
from otp.unreported_codes import OF_ANY_CODE, REPORTED_WITHIN, is_outcome_known
from storage.statements import sql_files
from storage.statements.queries import fetch_tuples, select

LAG = timedelta(seconds=5)
# The longest time from the request to the last channel until its code is mature; an id is older
# than its row.
MATURE_WITHIN = timedelta(seconds=MAX_DELIVERY_SECONDS + MATURITY + 10)
# The last channel mostly begins within a minute. Older messages are read only if their delivery is
# new, and then the newest message of the same code is looked up.
USUALLY_MATURE_WITHIN = MATURE_WITHIN + timedelta(minutes=1)

_SQL = sql_files.read_several(
    "otp/protection/code_outcomes.sql",
    of_any_code=OF_ANY_CODE,
    is_outcome_known=is_outcome_known(
        "(COALESCE(message.delivered_at, message.created_at) + make_interval(secs => %(maturity)s))"
    ),
)


class OutcomeKind(StrEnum):
    ENTERED = "entered"
    MISSED = "missed"
    ENTERED_LATE = "entered_late"  # corrects a `MISSED`
    EXCUSED = "excused"  # takes a `MISSED` back: the code was entered from a later message
    AWAITED = "awaited"  # delivered, but too early to count as missed


KEPT_FOR_MANY_CODES = {OutcomeKind.ENTERED, OutcomeKind.AWAITED}


class SentCode(NamedTuple):
    """The message of a code, and its outcome; times are seconds since 1970."""

    id: UUID
    company_id: int
    phone: str
    price: int
    subject_id: UUID
    ip: str  # hashed; empty if unknown
    device: str
    created: float
    last_try: float | None
    delivered: float | None
    verified: float | None
    is_outcome_known: bool  # False: a missing report says nothing about the code
    # id of the newest message with this code; its own id if it is so new that all are read
    newest_id: UUID

    @property
    def mature_at(self) -> float | None:
        """The time from which the code counts as missed unless it was entered.

        None for a code that was not delivered promptly: an outage is no evidence.
        """
        if (
            self.delivered is None
            or self.delivered - (self.last_try or self.created) > MAX_DELIVERY_SECONDS
        ):
            return None
        return self.delivered + MATURITY

    @property
    def send(self) -> Send:
        return self.company_id, self.phone, self.created


class CodeOutcome(NamedTuple):
    kind: OutcomeKind
    at: float  # seconds since 1970
    code: SentCode


def outcomes(since: datetime, until: datetime) -> list[CodeOutcome]:
    """Outcomes in `(since, until]` by time, and the codes still awaited at its end."""
    outcomes = [*_of_maturing(since, until), *_of_entered(since, until)]
    known_sends = known_phones.sends_to_known({outcome.code.send for outcome in outcomes}, since)
    of_unknown = [outcome for outcome in outcomes if not known_sends.get(outcome.code.send)]
    phones = {(company_id, phone) for company_id, phone, _created in known_sends}
    return sorted(_without_repeated(of_unknown, until, phones), key=lambda outcome: outcome.at)


def _of_maturing(since: datetime, until: datetime) -> Iterator[CodeOutcome]:
    start, end = since.timestamp(), until.timestamp()
    oldest = since - _lifetime() - MATURE_WITHIN
    recent = since - USUALLY_MATURE_WITHIN
    params = _id_ranges(oldest, until, recent=recent)
    params["maturing"] = since - timedelta(seconds=MATURITY)
    codes = _fetch(_SQL["of_all"], params)
    newest = _newest_messages(codes)
    for code in codes:
        mature_at = code.mature_at
        if mature_at is None:
            continue
        if mature_at > end:
            if code.is_outcome_known and (code.verified is None or code.verified > end):
                yield CodeOutcome(OutcomeKind.AWAITED, end, code)
        elif mature_at > start:
            if code.verified is None or code.verified > mature_at:
                if code.is_outcome_known:
                    yield CodeOutcome(OutcomeKind.MISSED, mature_at, code)
            elif code.id == newest[code.subject_id]:
                yield CodeOutcome(OutcomeKind.ENTERED, mature_at, code)


def _of_entered(since: datetime, until: datetime) -> Iterator[CodeOutcome]:
    """The outcomes of codes that were entered in this interval, before or after maturity."""
    params = _id_ranges(since - _lifetime() - MATURE_WITHIN, until)
    params |= {"since": since, "until": until}
    codes = _fetch(_SQL["entered"], params)
    newest = _newest_messages(codes)
    for code in codes:
        verified = code.verified or 0.0  # never None: all these codes were entered
        is_newest = code.id == newest[code.subject_id]
        mature_at = code.mature_at
        was_missed = code.is_outcome_known and mature_at is not None and verified > mature_at
        if was_missed:
            kind = OutcomeKind.ENTERED_LATE if is_newest else OutcomeKind.EXCUSED
            yield CodeOutcome(kind, verified, code)
        elif is_newest and (mature_at is None or verified > mature_at):
            yield CodeOutcome(OutcomeKind.ENTERED, verified, code)


def _newest_messages(codes: Iterable[SentCode]) -> dict[UUID, UUID]:
    """The newest message of each code."""
    newest: dict[UUID, UUID] = {}
    for code in codes:
        newest[code.subject_id] = max(code.newest_id, newest.get(code.subject_id, code.id))
    return newest


_SENT_RECENTLY = """
SELECT company_id, phone, count(*) FROM channels_message
WHERE phone = ANY(%s) AND created_at > %s AND created_at <= %s AND kind = 'code' AND mode = 'live'
GROUP BY company_id, phone HAVING count(*) > %s
"""


def _without_repeated(
    outcomes: list[CodeOutcome], until: datetime, known_pairs: Set[tuple[int, str]]
) -> Iterator[CodeOutcome]:
    """The outcomes without those of phones beyond the number of codes that counts.

    Left out are their misses, and the outcomes that would correct these. The limit of a known phone
    is higher by the codes with which it passes.
    """
    phones = sorted({code.phone for kind, _, code in outcomes if kind not in KEPT_FOR_MANY_CODES})
    params = [phones, until - timedelta(seconds=PHONE_WINDOW), until, COUNTED_OF_PHONE]
    over_limit = {
        (company_id, phone)
        for company_id, phone, count in fetch_tuples(_SENT_RECENTLY, params)
        if count > COUNTED_OF_PHONE + KNOWN_CODES or (company_id, phone) not in known_pairs
    }
    for outcome in outcomes:
        if outcome.code.send[:2] not in over_limit or outcome.kind in KEPT_FOR_MANY_CODES:
            yield outcome
        elif outcome.kind is OutcomeKind.ENTERED_LATE:  # corrects an uncounted miss
            yield outcome._replace(kind=OutcomeKind.ENTERED)


def sent_codes(company_id: int, since: datetime, until: datetime, *, limit: int) -> list[SentCode]:
    """The company's newest codes, oldest first."""
    ranges = _id_ranges(since, until)
    codes = _fetch(_SQL["of_company"], ranges | {"company_id": company_id, "limit": limit})[::-1]
    return [code for code in codes if code.is_outcome_known]


def _fetch(statement: str, params: dict[str, Any]) -> list[SentCode]:
    limits = {"prompt": MAX_DELIVERY_SECONDS, "maturity": MATURITY}
    return select(SentCode, statement, params | limits)


def _id_ranges(
    since: datetime, until: datetime, *, recent: datetime | None = None
) -> dict[str, Any]:
    """The id ranges of messages accepted in `[since, until)`, and of older codes that they repeat.

    All messages accepted from `recent` on are read.
    """
    return {
        "first": first_id_at(since),
        "recent": first_id_at(recent or since),
        "last": first_id_at(until),
        "first_code": first_id_at(since - _lifetime()),
        "first_reported": first_id_at(since - REPORTED_WITHIN),
    }


def _lifetime() -> timedelta:
    """The longest time after its acceptance at which a message may begin with another channel."""
    return timedelta(seconds=settings.LONGEST_CODE_LIFETIME)
