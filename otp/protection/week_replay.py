"""Replays the guard over the codes of the last week, before the company switches it on.

Codes that the guard would have refused do not teach it, because they would not have been sent.
"""

import heapq
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime, timedelta
from itertools import count
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.jobs import Job
from accounts.models import Company
from channels.guard.guard import Guard, GuardStep, PendingCode
from channels.guard.scope_evidence import PhoneHistory
from channels.phone_numbers import country_of
from otp.models import GuardReplay
from otp.protection import code_outcomes, known_phones
from otp.protection.code_outcomes import SentCode
from storage.store_errors import is_outage, savepoint

DAYS = 7
# A very large company's newest codes only are replayed: half a minute of a worker's time.
MAX_CODES = 50_000
LEASE = timedelta(minutes=5)
MAX_TRIES = 3
JOB = Job("guard_replays", _("previews of the protection"))


@dataclass(frozen=True, slots=True)
class WeekFigures:
    """Figures of the replay, named as in `GuardReplay`."""

    codes: int
    since: datetime | None  # time of the oldest code in the replay
    refused: int
    challenged: int
    cheap_only: int
    entered: int  # of the codes refused or challenged
    tokens: int  # charged for the missed codes

    @property
    def held_back(self) -> int:
        return self.refused + self.challenged + self.cheap_only


RESULT = [field.name for field in fields(WeekFigures)]


@dataclass(slots=True)
class _Week:
    histories: dict[str, PhoneHistory]  # by phone
    # The newest message of each code that would have been sent: only it counts.
    newest: dict[UUID, PendingCode] = field(default_factory=dict)
    guard: Guard = field(default_factory=Guard)
    # The time, a number that keeps the order, and the event.
    due: list[tuple[float, int, Callable[[float], None]]] = field(default_factory=list)
    held: dict[GuardStep, int] = field(default_factory=dict)
    entered: int = 0
    tokens: int = 0
    _numbers: "count[int]" = field(default_factory=count)

    def play(self, code: SentCode) -> None:
        while self.due and self.due[0][0] <= code.created:
            at, _number, act = heapq.heappop(self.due)
            act(at)
        history = self.histories.setdefault(code.phone, PhoneHistory())
        assessment = self.guard.assess(
            code.created,
            code.phone,
            country_of(code.phone),
            code.ip,
            device=code.device,
            is_known=history.is_known(code.created),
        )
        step = assessment.step
        if step is not GuardStep.ALLOW:
            self.held[step] = self.held.get(step, 0) + 1
        if step in {GuardStep.REFUSE, GuardStep.CHALLENGE}:
            self.entered += code.verified is not None
            if code.delivered is not None and code.verified is None:
                self.tokens += code.price
            return
        history.record_send(code.created)
        pending_code = self.newest[code.subject_id] = self.guard.open_code(code.created, assessment)
        self._schedule(code, pending_code, history)

    def _schedule(self, code: SentCode, pending_code: PendingCode, history: PhoneHistory) -> None:
        tokens = float(code.price)
        mature_at = code.mature_at
        if code.delivered is not None and mature_at is not None:
            self._call_at(
                code.delivered, lambda at: self.guard.record_delivery(at, pending_code, tokens, 0.0)
            )
            self._call_at(
                mature_at,
                lambda at: self.guard.record_timeout(
                    at, pending_code, is_counted=history.is_counted(at)
                ),
            )
        if code.verified is None:
            return

        def entered(at: float) -> None:
            history.record_entry(at)
            if self.newest[code.subject_id] is pending_code:
                self.guard.record_verification(at, pending_code)
            else:
                self.guard.record_later_entry(at, pending_code)

        self._call_at(code.verified, entered)

    def _call_at(self, moment: float, act: Callable[[float], None]) -> None:
        heapq.heappush(self.due, (moment, next(self._numbers), act))


def request_replay(company: Company) -> GuardReplay:
    """Requests a new replay unless one is in progress."""
    replay, is_new = GuardReplay.objects.get_or_create(
        company=company, defaults={"asked_at": timezone.now()}
    )
    if not is_new and replay.is_finished:
        replay = GuardReplay(pk=replay.pk, company=company, asked_at=timezone.now())
        replay.save()
    return replay


def make_next() -> bool:
    """Runs the oldest requested replay; False if there is none.

    It takes a while, so it holds no transaction. A replay whose worker died is tried again.
    """
    replay = _claim()
    if replay is None:
        return False
    try:
        for name, value in asdict(figures(replay.company_id, replay.asked_at)).items():
            setattr(replay, name, value)
        replay.finished_at = timezone.now()
        with savepoint():
            replay.save(update_fields=[*RESULT, "finished_at"])
    except Exception as error:
        if is_outage(error):
            raise
        is_last = replay.tries >= MAX_TRIES
        JOB.failed(replay, error, is_last=is_last)
        if is_last:
            GuardReplay.objects.filter(pk=replay.pk).update(
                finished_at=timezone.now(), is_failed=True
            )
    else:
        JOB.succeeded(replay)
    return True


@transaction.atomic
def _claim() -> GuardReplay | None:
    now = timezone.now()
    due = GuardReplay.objects.filter(finished_at=None).filter(
        Q(started_at=None) | Q(started_at__lt=now - LEASE)
    )
    replay = due.order_by("asked_at").select_for_update(skip_locked=True).first()
    if replay is not None:
        replay.started_at = now
        replay.tries += 1
        replay.save(update_fields=["started_at", "tries"])
    return replay


def figures(company_id: int, until: datetime) -> WeekFigures:
    """The figures of the week before `until`; takes up to half a minute."""
    since = until - timedelta(days=DAYS)
    codes = code_outcomes.sent_codes(company_id, since, until, limit=MAX_CODES)
    begins = datetime.fromtimestamp(codes[0].created, UTC) if codes else None
    phones = {code.phone for code in codes}
    week = _Week(known_phones.histories(company_id, phones, begins) if begins else {})
    for code in codes:
        week.play(code)
    return WeekFigures(
        codes=len(codes),
        since=begins,
        refused=week.held.get(GuardStep.REFUSE, 0),
        challenged=week.held.get(GuardStep.CHALLENGE, 0),
        cheap_only=week.held.get(GuardStep.CHEAP_ONLY, 0),
        entered=week.entered,
        tokens=week.tokens,
    )


def save_figures(company: Company, figures: WeekFigures, now: datetime) -> None:
    """Saves these figures as the newest replay, in the caller's transaction.

    So the page shows the figures of the e-mail.
    """
    times = {"asked_at": now, "started_at": now, "finished_at": now, "is_failed": False}
    GuardReplay.objects.update_or_create(company=company, defaults=times | asdict(figures))
