"""Failed work is retried later and later, given up, reported, and forgotten once it succeeds."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial

import pytest
from django.db import OperationalError, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from redis.exceptions import ConnectionError as RedisConnectionError

from accounts import jobs
from accounts.jobs import DELAYS, FILES, JOBS, MAX_TRIES, Job, RoundRobin, StopRunError
from accounts.models import AuditEvent, Company, CsvExport, JobFailure, Member
from accounts.tasks import make_files
from cabinet import csv_exports
from channels.deliver import sweeps
from operator_admin.alerts.conditions import work_given_up
from otp.check import settlement
from tests.factories import CompanyFactory, MemberFactory, MessageFactory
from tests.operator_admin.operators import make_operator, sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def job() -> Job:
    job = Job("trial", "trials")
    del JOBS["trial"]
    return job


def broken(_subject: object) -> None:
    raise OverflowError("date value out of range")


def make_due() -> None:
    JobFailure.objects.update(due_at=timezone.now() - timedelta(seconds=1))


def try_and_give_up(run: Callable[[], object]) -> JobFailure:
    for _ in range(MAX_TRIES):
        run()
        make_due()
    return JobFailure.objects.get()


def test_delays_between_tries_grow(job: Job, company: Company) -> None:
    waits = []
    for _ in range(MAX_TRIES):
        job.each([company.pk], broken)
        job.each([company.pk], broken)  # not due yet
        failure = JobFailure.objects.get()
        waits.append(round((failure.due_at - failure.failed_at).total_seconds()))
        make_due()

    assert waits == [*(round(delay.total_seconds()) for delay in DELAYS), 86_400]
    assert (failure.company, failure.tries, failure.error) == (company, MAX_TRIES, "OverflowError")
    assert failure.gave_up_at is not None


@pytest.mark.parametrize("work", [sweeps.JOB, settlement.JOB], ids=lambda work: work.name)
def test_work_that_holds_tokens_is_tried_each_hour(work: Job, company: Company) -> None:
    failure = try_and_give_up(lambda: work.each([company.pk], broken))

    work.each([company.pk], broken)

    failure.refresh_from_db()
    assert failure.due_at - failure.failed_at == timedelta(hours=1)


def test_given_up_work_alerts_until_it_succeeds(job: Job, company: Company) -> None:
    try_and_give_up(lambda: job.each([company], broken))
    alerts = list(work_given_up())

    results = job.each([company], lambda served: served.name)

    assert alerts == [("trial", {"count": 1, "error": "OverflowError"})]
    assert results == [company.name]
    assert list(work_given_up()) == []


@pytest.mark.parametrize("error", [RedisConnectionError("away"), StopRunError()])
def test_outage_is_not_a_failure_of_a_company(job: Job, company: Company, error: Exception) -> None:
    def work(_subject: object) -> None:
        raise error

    with pytest.raises(type(error)):
        job.each([company], work)

    assert not JobFailure.objects.exists()


def test_statement_timeout_is_a_failure_of_a_company(job: Job, company: Company) -> None:
    def work(_subject: object) -> None:
        raise OperationalError("canceling statement due to statement timeout")

    job.each([company], work)

    assert JobFailure.objects.get().error == "OperationalError"


def test_failure_takes_back_what_it_did(job: Job, company: Company) -> None:
    other = CompanyFactory.create()

    def work(one: Company) -> None:
        Company.objects.filter(pk=one.pk).update(name="changed")
        if one == company:
            raise ValueError

    with transaction.atomic():
        job.each([company, other], work)

    company.refresh_from_db()
    other.refresh_from_db()
    assert (company.name == "changed", other.name) == (False, "changed")


def test_only_the_refused_row_fails(job: Job) -> None:
    written: list[int] = []

    def write(rows: Sequence[int]) -> None:
        if 5 in rows:
            raise ValueError
        written.extend(rows)

    job.write_batch(list(range(8)), write)

    assert sorted(written) == [0, 1, 2, 3, 4, 6, 7]
    assert JobFailure.objects.get().subject == "5"


@pytest.fixture
def file(owner: Member) -> CsvExport:
    MessageFactory.create(company=owner.company)
    kind = csv_exports.KINDS["messages"]
    return csv_exports.start(kind=kind, member=owner, query="", language="ru", ip=None)


def test_file_that_cannot_be_made_says_so(
    file: CsvExport, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken_part(*_args: object) -> None:
        raise OverflowError

    monkeypatch.setattr(csv_exports.KINDS["messages"], "part", broken_part)
    failure = try_and_give_up(csv_exports.make_next)

    file.refresh_from_db()
    page = client.get(reverse("csv-files")).content.decode()
    assert (failure.subject, failure.tries) == (str(file.pk), MAX_TRIES)
    assert file.state == CsvExport.State.FAILED
    assert file.finished_at is not None
    assert "не удалось подготовить" in page
    assert csv_exports.make_next() is False


def test_operator_retries_failed_work(job: Job, company: Company, client: Client) -> None:
    failure = try_and_give_up(lambda: job.each([company], broken))
    sign_in(client, make_operator(), "password", "mfa")

    page = client.get(reverse("admin:accounts_jobfailure_changelist")).content.decode()
    client.post(
        reverse("admin:accounts_jobfailure_changelist"),
        {"action": "try_again", "_selected_action": [failure.pk]},
    )

    assert company.name in page
    assert not JobFailure.objects.exists()
    assert AuditEvent.objects.filter(action="job.retried", company=company).exists()


def test_failure_of_vanished_work_is_purged(job: Job, company: Company) -> None:
    job.each([company, MemberFactory.create().company], broken)
    gone = JobFailure.objects.filter(company=company)
    gone.update(due_at=timezone.now() - jobs.RESOLVED_AFTER - timedelta(minutes=1))

    assert jobs.purge(10) == 1
    assert JobFailure.objects.count() == 1


def test_long_files_use_one_thread_per_worker() -> None:
    begun = threading.Event()
    end = threading.Event()

    def work() -> bool:
        begun.set()
        return not end.wait(20)

    with ThreadPoolExecutor() as pool, mock_steps(FILES, work):
        first = pool.submit(make_files)
        begun.wait(20)
        others = [pool.submit(make_files) for _ in range(2)]
        wait(others, 20)
        is_done = all(other.done() for other in others)
        is_working = not first.done()
        end.set()

    assert is_done
    assert is_working


@contextmanager
def mock_steps(turns: RoundRobin, *steps: Callable[[], bool]) -> Iterator[None]:
    held = turns._seconds
    turns._seconds = dict.fromkeys(steps, 0.0)
    yield
    turns._seconds = held


def test_each_kind_of_files_has_a_step_in_turn() -> None:
    made: list[str] = []

    def step(name: str, most: int) -> bool:
        if made.count(name) == most:
            return False
        made.append(name)
        return True

    RoundRobin(partial(step, "long", 5), partial(step, "short", 1), partial(step, "other", 2)).run()

    assert set(made[:3]) == {"long", "short", "other"}
    assert len(made) == 8


def test_failing_kind_of_files_does_not_hold_up_others() -> None:
    made: list[int] = []

    def step() -> bool:
        made.append(1)
        return len(made) < 3

    turns = RoundRobin(lambda: bool(1 // 0), step)

    for _ in range(9):
        with suppress(ZeroDivisionError):
            turns.run()

    assert len(made) >= 3


@pytest.mark.parametrize("idle_calls", [0, 2])
def test_kinds_share_the_time(idle_calls: int) -> None:
    """A provider that hangs leaves a healthy one as much time, also one that was idle before."""
    calls: list[str] = []

    def call(name: str, seconds: float) -> bool:
        is_over = calls.count("hanging") > idle_calls + 1
        if is_over or (name == "healthy" and calls.count("hanging") < idle_calls):
            return False
        time.sleep(seconds)
        calls.append(name)
        return True

    RoundRobin(partial(call, "hanging", 0.3), partial(call, "healthy", 0.005)).run()

    assert calls[:idle_calls] == ["hanging"] * idle_calls
    assert calls.count("healthy") > 10


def test_company_with_many_files_leaves_a_turn_to_another(job: Job, company: Company) -> None:
    other: Company = CompanyFactory.create()
    user = MemberFactory.create(company=company).user
    for exporter in (company, company, company, other):
        CsvExport.objects.create(company=exporter, user=user)
    served: list[Company] = []

    for _ in range(4):
        job.do_next(CsvExport.objects.unfinished(), lambda row: served.append(row.company), broken)

    assert served == [company, other] * 2
