"""Scheduled work for many companies; one failure does not hold up the others.

A failure is counted in `JobFailure` and retried with growing delays. After MAX_TRIES operators are
alerted, and the row that somebody waits for shows the failure. Retries continue daily, or at the
job's own interval, so that a fixed release completes the work; success deletes the `JobFailure`.
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

import structlog
from django.db import models, transaction
from django.utils import timezone

from accounts.models import Company, JobFailure
from catalogue.texts import StrOrPromise
from storage.store_errors import is_outage, savepoint, write_together

log = structlog.get_logger(__name__)

DELAYS = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 30, 120))  # between tries
MAX_TRIES = len(DELAYS) + 1
MAX_RUN = 20.0  # seconds of a run of `RoundRobin`, for which a worker that is stopping waits
# Every job runs more often: a failure that is still there this long after its `due_at` was resolved
# elsewhere.
RESOLVED_AFTER = timedelta(hours=3)

S = TypeVar("S")
R = TypeVar("R")
M = TypeVar("M", bound=models.Model)
JOBS: dict[str, "Job"] = {}


class StopRunError(Exception):
    """Raised by the work on one item to end the run: another process does it, or time is up."""


@dataclass(frozen=True, slots=True)
class Job:
    """A kind of work, declared next to its code; operators read `title`."""

    name: str
    title: StrOrPromise
    # Every run has new work, and failed work is lost: nothing waits for a retry.
    is_stream: bool = False
    given_up_delay: timedelta = timedelta(days=1)  # between tries after giving up
    # Companies that had a step in this round of `do_next`.
    _served: set[int] = field(default_factory=set, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        JOBS[self.name] = self

    def each(
        self,
        subjects: Iterable[S],
        work: Callable[[S], R],
        key: Callable[[S], object] = lambda subject: subject,
    ) -> list[R]:
        """Does the work on each subject; returns the results of those that succeeded. Inside a
        transaction each subject gets a savepoint.

        `key` returns the row, tuple of ids or id that identifies a subject in the next run.
        """
        results: list[R] = []
        retry_times = self._retry_times()
        now = timezone.now()
        for subject in subjects:
            identity = key(subject)
            if self._waits_for_retry(retry_times, identity, now):
                continue
            try:
                with savepoint():
                    results.append(work(subject))
            except StopRunError:
                raise
            except Exception as error:
                if is_outage(error):
                    raise
                self.failed(identity, error)
            else:
                if _identity(identity)[0] in retry_times:
                    self.succeeded(identity)
        return results

    def write_batch(
        self,
        subjects: Sequence[S],
        write: Callable[[Sequence[S]], object],
        key: Callable[[S], object] = lambda subject: subject,
    ) -> None:
        """Writes all due subjects together, or in halves if the database refuses
        (`write_together`).
        """
        if not subjects:
            return
        retry_times = self._retry_times()
        now = timezone.now()
        due = [
            subject
            for subject in subjects
            if not self._waits_for_retry(retry_times, key(subject), now)
        ]
        refused: list[S] = []

        def refuse(subject: S, error: Exception) -> None:
            refused.append(subject)
            self.failed(key(subject), error)

        write_together(due, write, refuse)
        for item in due:
            if _identity(key(item))[0] in retry_times and item not in refused:
                self.succeeded(key(item))

    def do_next(
        self, rows: models.QuerySet[M], work: Callable[[M], object], give_up: Callable[[M], object]
    ) -> bool:
        """Does a step of the row that has waited longest, under its lock; False if there is no row.
        Companies take turns, however many rows each has.

        `give_up` marks the row as failed for those who wait for it.
        """
        retry_times = self._retry_times()
        with transaction.atomic():
            locked = rows.exclude(pk__in=self.waiting()).select_for_update(
                skip_locked=True, of=("self",)
            )
            row: Any = locked.exclude(company__in=self._served).first()
            if row is None:  # every company has had its turn
                self._served.clear()
                row = locked.first()
            if row is None:
                return False
            self._served.add(row.company_id)
            try:
                with transaction.atomic():
                    work(row)
            except Exception as error:
                if is_outage(error):
                    raise
                if self.failed(row, error):
                    row.refresh_from_db()
                    give_up(row)
            else:
                if str(row.pk) in retry_times:
                    self.succeeded(row)
        return True

    def is_failing(self) -> bool:
        return JobFailure.objects.filter(job=self.name).exists()

    @transaction.atomic
    def failed(self, subject: object, error: Exception, *, is_last: bool = False) -> bool:
        """Counts a failed try; returns whether the job has given up on the subject."""
        name, company_id = _identity(subject)
        log.error("job_failed", job=self.name, subject=name, company=company_id, exc_info=error)
        now = timezone.now()
        key = {"job": self.name, "subject": name}
        defaults = {"company_id": company_id, "failed_at": now, "due_at": now}
        JobFailure.objects.get_or_create(**key, defaults=defaults)
        failure = JobFailure.objects.select_for_update().get(**key)
        failure.tries += 1
        failure.error = type(error).__name__[:80]
        failure.failed_at = now
        if is_last or failure.tries >= MAX_TRIES:
            failure.gave_up_at = failure.gave_up_at or now
            failure.due_at = now + self.given_up_delay
        else:
            failure.due_at = now + DELAYS[failure.tries - 1]
        failure.save()
        return failure.gave_up_at is not None

    def succeeded(self, subject: object) -> None:
        JobFailure.objects.filter(job=self.name, subject=_identity(subject)[0]).delete()

    def waiting(self) -> list[str]:
        """Names of the subjects that failed and are not due for a retry yet."""
        now = timezone.now()
        return [name for name, due_at in self._retry_times().items() if due_at > now]

    def _waits_for_retry(
        self, retry_times: dict[str, datetime], subject: object, now: datetime
    ) -> bool:
        return not self.is_stream and retry_times.get(_identity(subject)[0], now) > now

    def _retry_times(self) -> dict[str, datetime]:
        """Subject → time of its next try."""
        return dict(JobFailure.objects.filter(job=self.name).values_list("subject", "due_at"))


class RoundRobin:
    """Runs work of many steps in at most one thread of a worker: otherwise the long files of one
    company, or calls of a provider that hangs, could occupy every thread, and e-mails, click counts
    and alerts would wait.

    Each kind of step gets an equal share of the thread's time, so that the calls of a provider that
    hangs take half of it from those of a healthy one, and not nearly all of it.
    """

    def __init__(self, *steps: Callable[[], bool]) -> None:
        self._seconds = dict.fromkeys(steps, 0.0)  # each kind's time
        self._thread = threading.Lock()

    def add(self, step: Callable[[], bool]) -> None:
        self._seconds[step] = 0.0

    def run(self) -> None:
        """Does steps until none is left; after MAX_RUN, another run continues."""
        if not self._thread.acquire(blocking=False):
            return
        try:
            ends_at = time.monotonic() + MAX_RUN
            while self.step() and time.monotonic() < ends_at:
                pass
        finally:
            self._thread.release()

    def step(self) -> bool:
        """Does a step of the kind that took the least time; False if no kind has work left."""
        return any(self._do(step) for step in sorted(self._seconds, key=self._seconds.__getitem__))

    def _do(self, step: Callable[[], bool]) -> bool:
        started_at = time.monotonic()
        is_done = False
        try:
            is_done = step()
        finally:
            seconds = self._seconds[step] + time.monotonic() - started_at
            # A kind that has no work saves up no time for later, and one that fails goes last.
            latest = seconds if is_done else max(seconds, *self._seconds.values())
            self._seconds[step] = latest
        return is_done


FILES = RoundRobin()  # the files that companies export or upload


def _identity(subject: object) -> tuple[str, int | None]:
    if isinstance(subject, int):  # a company's id
        return str(subject), subject
    if isinstance(subject, Company):
        return str(subject.pk), subject.pk
    company_id: int | None = getattr(subject, "company_id", None)
    if isinstance(subject, models.Model):
        return str(subject.pk), company_id
    parts = subject if isinstance(subject, tuple) else (subject,)
    return ":".join(map(str, parts))[:80], company_id


def not_waiting_sql(job: str, subject: str) -> str:
    """The SQL condition that excludes subjects waiting for a retry, which would use up a LIMIT."""
    return f"""NOT EXISTS (SELECT FROM accounts_jobfailure failure WHERE failure.job = '{job}'
  AND failure.subject = {subject} AND failure.due_at > now())"""


def title_of(name: str) -> StrOrPromise:
    return JOBS[name].title if name in JOBS else name


def purge(limit: int) -> int:
    old = JobFailure.objects.filter(due_at__lt=timezone.now() - RESOLVED_AFTER)
    return JobFailure.objects.filter(pk__in=old.values("pk")[:limit]).delete()[0]


@transaction.atomic
def delete_with_parts(rows: models.QuerySet[Any], limit: int | None = None) -> int:
    """Deletes rows that `Job.do_next` works on, with their dependants; returns the number of rows.

    Locks the rows first: a part added meanwhile would make the commit fail.
    """
    locked = rows.order_by("pk").select_for_update(of=("self",))
    ids = list(locked.values_list("pk", flat=True)[:limit])
    rows.model._default_manager.filter(pk__in=ids).delete()  # noqa: SLF001 - public in Django
    return len(ids)


def delete_all_but_newest(rows: models.QuerySet[Any], count: int) -> None:
    """Deletes all but the newest `count` rows.

    Otherwise a user who creates many files could fill the disk before the first one expires.
    """
    old = rows.order_by("-created_at", "-pk").values_list("pk", flat=True)[count:]
    if ids := list(old):
        delete_with_parts(rows.model._default_manager.filter(pk__in=ids))  # noqa: SLF001 - public in Django
