"""The web process alerts while no worker lives, and while PostgreSQL is away."""

from datetime import timedelta

import pytest
import responses
from django.core import mail as django_mail
from django.db import OperationalError, ProgrammingError
from django.utils import timezone
from pytest_django import Settings

from operator_admin.alerts import evaluation, watchdog
from operator_admin.alerts.rules import Group
from operator_admin.models import Alert, AlertRun
from tests.operator_admin.alerts.conftest import accept, texts, write_heartbeat

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("service")]


@pytest.fixture(autouse=True)
def operators(settings: Settings) -> None:
    settings.OPERATOR_EMAILS = ["ops@example.com"]


def age_runs() -> None:
    AlertRun.objects.update(at=timezone.now() - timedelta(minutes=4))


def test_running_schedule_is_unchanged() -> None:
    evaluation.run(Group.MINUTE)
    before = AlertRun.objects.get().at

    watchdog.Watchdog().check()

    assert AlertRun.objects.get().at == before


def test_dead_worker_is_reported_by_the_web_process(telegram: responses.RequestsMock) -> None:
    accept(telegram)
    write_heartbeat("delivery", age=400)
    web = watchdog.Watchdog()

    web.check()
    Alert.objects.update(due_at=timezone.now() - timedelta(seconds=1))
    age_runs()
    web.check()

    assert len(texts(telegram)) == 1
    assert "Ни один обработчик" in texts(telegram)[0]
    (email,) = django_mail.outbox
    assert (email.to, "kvitok-worker" in str(email.body)) == (["ops@example.com"], True)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    def fail() -> bool:
        raise OperationalError("down")

    monkeypatch.setattr(watchdog, "_is_alone", fail)
    return monkeypatch


def test_postgres_outage_and_its_end_are_reported_once(
    telegram: responses.RequestsMock, broken: pytest.MonkeyPatch
) -> None:
    accept(telegram)
    processes = [watchdog.Watchdog(), watchdog.Watchdog()]

    for web in processes:
        web.check()
    assert texts(telegram) == []  # one failure may be a hiccup
    for _ in range(5):
        for web in processes:
            web.check()
    assert len(texts(telegram)) == len(django_mail.outbox) == 1
    assert "PostgreSQL не отвечает" in texts(telegram)[0]

    broken.undo()
    for web in processes:
        web.check()
    assert len(texts(telegram)) == len(django_mail.outbox) == 2
    assert "PostgreSQL снова отвечает" in texts(telegram)[1]


def test_missing_table_is_not_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    """A web process of the next release, before `migrate`."""

    def fail() -> bool:
        raise ProgrammingError("no such table")

    monkeypatch.setattr(watchdog, "_is_alone", fail)
    web = watchdog.Watchdog()

    for _ in range(3):
        with pytest.raises(ProgrammingError):
            web.check()

    assert django_mail.outbox == []


@pytest.mark.usefixtures("no_redis", "broken")
def test_outage_without_redis_is_reported_once_per_process() -> None:
    web = watchdog.Watchdog()

    for _ in range(5):
        web.check()

    assert len(django_mail.outbox) == 1
