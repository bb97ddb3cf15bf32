"""One company's failure does not stop a scheduled job from working for the others."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.conf import settings as django_settings
from django.utils import timezone

from accounts.jobs import JOBS
from accounts.models import Company, JobFailure
from channels.deliver import sweeps
from config.celery import app
from otp.check import settlement
from tests.billing.gateways.vendors import mocked_providers
from tests.config.job_trials import billing, channels, companies
from tests.config.job_trials.trial import Trial
from tests.factories import CompanyFactory
from tests.sql import execute

pytestmark = pytest.mark.django_db
TRIALS = billing.TRIALS + channels.TRIALS + companies.TRIALS
# Tasks that work for no single company, each with what keeps one row from stopping it.
OTHERS = {
    "webhooks.cancel_undeliverable": "one UPDATE of states",
    "accounts.deliver_mail": "each e-mail has its own tries and its own end",
    "billing.expire_orders": "one UPDATE of states",
    "channels.check_ledger": "reads and writes no company's rows",
    "channels.check_whole_ledger": "reads and writes no company's rows",
    "channels.refresh_approvals": "one account after another, each by itself",
    "channels.write_heartbeat": "no company's rows",
    "links.append_click_events": "`write_together`: by halves, down to one click",
    "links.count_clicks": "`write_together`: by halves, down to one click",
    "links.maintain_clickhouse": "one statement after another in ClickHouse",
    "links.prove_clicks": "`write_together`: by halves, down to one click",
    "links.write_clicks_to_clickhouse": "`write_together`: by halves, down to one click",
    "operator_admin.count_status_days": "one statement over counted days",
    "operator_admin.evaluate_alerts": "one rule after another, each by itself",
    "operator_admin.evaluate_outside_alerts": "one rule after another, each by itself",
    "operator_admin.measure_api": "no company's rows",
}


@pytest.fixture(autouse=True)
def wire(settings: object) -> Iterator[None]:
    with mocked_providers(settings):
        yield


@contextmanager
def refused(trial: Trial, company: Company) -> Iterator[None]:
    rows = trial.rows.format(company=company.pk)
    row, events = ("OLD", "DELETE") if "OLD." in rows else ("NEW", "INSERT OR UPDATE")
    execute("SET CONSTRAINTS ALL IMMEDIATE")
    execute(
        "CREATE FUNCTION refuse_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" IF {rows} THEN RAISE EXCEPTION 'refused'; END IF; RETURN {row}; END $$"
    )
    execute(
        f"CREATE TRIGGER refuse BEFORE {events} ON {trial.table}"
        " FOR EACH ROW EXECUTE FUNCTION refuse_row()"
    )
    yield
    execute("SET CONSTRAINTS ALL IMMEDIATE")
    execute("DROP FUNCTION refuse_row CASCADE")


def run(trial: Trial) -> None:
    app.loader.import_default_modules()
    own = {"sweep": sweeps.give_up, "settle": settlement.settle_verified}
    (own.get(trial.task) or app.tasks[trial.task])()


def test_every_task_and_every_job_is_tried() -> None:
    scheduled = {entry["task"] for entry in django_settings.CELERY_BEAT_SCHEDULE.values()}

    assert {trial.task for trial in TRIALS} - {"sweep", "settle"} == scheduled - OTHERS.keys()
    assert {trial.job for trial in TRIALS} == JOBS.keys()


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.job)
def test_failure_of_one_company_does_not_block_others(trial: Trial) -> None:
    bad = CompanyFactory.create()
    good = CompanyFactory.create()
    trial.prepare(bad)
    trial.prepare(good)
    trial.begin()

    with refused(trial, bad):
        run(trial)
        run(trial)  # what has failed is not tried at once, and stops nothing

    assert (trial.is_done(bad), trial.is_done(good)) == (False, True)
    failure = JobFailure.objects.get(job=trial.job)
    assert failure.gave_up_at is None
    if trial.is_stream:
        return

    assert failure.tries == 1
    trial.age()
    JobFailure.objects.update(due_at=timezone.now() - timedelta(hours=1))
    run(trial)

    assert trial.is_done(bad)
    assert not JobFailure.objects.exists()
