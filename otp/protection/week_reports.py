"""Reports weekly, to companies in monitoring mode, what the guard would have done to their codes.

The figures come from the replay, which the page shows too and which knows entered and paid codes.
The `stopped` count of a restriction differs: it counts sends by the last step, over any time.

A claim moves the time of the next try. The e-mails are posted in the transaction that moves it to
the next week, unless another worker has moved it since: a week is reported once.
"""

import time
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.jobs import Job
from accounts.models import Company, GuardMode
from otp.models import GuardReport
from otp.protection import notifications, week_replay
from otp.protection.week_replay import WeekFigures
from storage.store_errors import is_outage

WEEK = timedelta(days=week_replay.DAYS)
# The time to the next try after a worker died or failed; longer than any replay takes.
RETRY = timedelta(hours=1)
RUN = 60.0  # seconds in which one run starts companies; the next run continues
BATCH_SIZE = 1000  # rows
WATCHING = {"guard_mode": GuardMode.WATCH, "deleted_at": None}
JOB = Job("guard_reports", _("weekly e-mails about the protection"))


def restart(company: Company, now: datetime) -> None:
    """Begins a new week, unless the company leaves monitoring mode, in the caller's transaction."""
    if company.guard_mode != GuardMode.WATCH:
        GuardReport.objects.filter(company=company).delete()
        return
    anew = {"due_at": now + WEEK, "reported_at": None}
    GuardReport.objects.update_or_create(company=company, defaults=anew)


def postpone() -> None:
    """Postpones reports in a copy of the database, because the original has sent them meanwhile."""
    now = timezone.now()
    GuardReport.objects.filter(due_at__lte=now).update(due_at=now + WEEK)


def run() -> None:
    # Companies older than the guard have been in monitoring mode since its installation.
    reported = GuardReport.objects.filter(company=OuterRef("pk"))
    new = Company.objects.filter(~Exists(reported), **WATCHING).order_by("pk")[:BATCH_SIZE]
    due_at = timezone.now() + WEEK
    GuardReport.objects.bulk_create(
        [GuardReport(company=company, due_at=due_at) for company in new], ignore_conflicts=True
    )
    ends_at = time.monotonic() + RUN
    while time.monotonic() < ends_at and report_next():
        pass


def report_next() -> bool:
    """Sends the report that is due the longest; False if none is due."""
    report = _claim()
    if report is None:
        return False
    try:
        _finish(report, week_replay.figures(report.company_id, timezone.now()))
    except Exception as error:
        if is_outage(error):
            raise
        JOB.failed(report, error)
    else:
        JOB.succeeded(report)
    return True


@transaction.atomic
def _claim() -> GuardReport | None:
    now = timezone.now()
    watching = {f"company__{name}": value for name, value in WATCHING.items()}
    due = GuardReport.objects.filter(due_at__lte=now, **watching).order_by("due_at")
    report = due.select_for_update(of=("self",), skip_locked=True).first()
    if report is not None:
        report.due_at = now + RETRY
        report.save(update_fields=["due_at"])
    return report


@transaction.atomic
def _finish(claimed: GuardReport, figures: WeekFigures) -> None:
    """Posts the report, unless the mode has changed or another worker was faster."""
    now = timezone.now()
    # Locks in the order of `restrictions.set_mode`.
    locked = Company.objects.select_for_update(no_key=True)
    company = locked.filter(pk=claimed.company_id, **WATCHING).first()
    is_news = bool(figures.held_back or (figures.codes and claimed.reported_at is None))
    moved = {"due_at": now + WEEK} | ({"reported_at": now} if is_news else {})
    stored = GuardReport.objects.filter(pk=claimed.pk, due_at=claimed.due_at)
    if company is None or not stored.update(**moved):
        return
    week_replay.save_figures(company, figures, now)
    if is_news:
        notifications.post_week(company, figures)
