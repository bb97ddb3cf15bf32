"""Operators are told once of a problem and of its end, and at growing intervals in between."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from django.db.models import F
from pytest_django import Settings

from accounts.models import Mail
from operator_admin.alerts import evaluation
from operator_admin.alerts.conditions import Problem
from operator_admin.alerts.rules import RULES, Group
from operator_admin.models import Alert, AlertRun
from tests.api.races import at_once
from tests.factories import WalletFactory
from tests.operator_admin.alerts.conftest import write_heartbeat
from tests.operator_admin.operators import make_operator

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("service")]


@pytest.fixture(autouse=True)
def operator() -> str:
    user = make_operator()
    user.language = "en"
    user.save()
    return user.email


def age(minutes: float) -> None:
    """Moves all rows back by this time."""
    past = timedelta(minutes=minutes)
    AlertRun.objects.update(at=F("at") - past)
    columns = ["began_at", "due_at", "notified_at", "missing_since", "ended_at"]
    Alert.objects.update(**{column: F(column) - past for column in columns})


def minutes_pass(count: int, *, silent: bool) -> None:
    for _ in range(count):
        age(1)
        for kind in ("web", "beat"):
            write_heartbeat(kind)
        write_heartbeat("delivery", age=100 if silent else 0)
        assert evaluation.run(Group.MINUTE)


def subjects() -> list[str]:
    return list(Mail.objects.order_by("created_at").values_list("subject", flat=True))


WORKER = "Kvitok: No worker is alive: nothing is delivered"
OVER = "Kvitok: over: No worker is alive: nothing is delivered"


def test_healthy_service_has_no_alerts() -> None:
    minutes_pass(3, silent=False)

    assert subjects() == []
    assert not Alert.objects.exists()


def test_problem_start_and_end_are_reported_once(operator: str) -> None:
    minutes_pass(10, silent=True)
    assert subjects() == [WORKER]
    email = Mail.objects.get()
    assert email.to == operator
    assert "systemctl start kvitok-worker" in email.text
    assert "/admin/alerts/#worker-silent" in email.text

    minutes_pass(10, silent=False)

    assert subjects() == [WORKER, OVER]
    assert Alert.objects.get().ended_at is not None


def test_pending_problem_that_ends_is_not_reported() -> None:
    minutes_pass(1, silent=True)
    minutes_pass(5, silent=False)

    assert subjects() == []
    assert not Alert.objects.exists()


def test_reminders_come_at_growing_intervals() -> None:
    minutes_pass(2, silent=True)
    hours: list[int] = []
    for hour in range(1, 68):
        age(59)
        minutes_pass(1, silent=True)
        if len(subjects()) > len(hours) + 1:
            hours.append(hour)

    assert hours == [1, 5, 17, 41, 65]
    assert set(subjects()) == {WORKER}
    assert "It has lasted for 3901 minutes." in Mail.objects.latest("created_at").text


def test_flapping_problem_is_announced_at_most_twice_an_hour() -> None:
    for _ in range(8):  # an hour in which it comes for three minutes and goes for four
        minutes_pass(3, silent=True)
        minutes_pass(4, silent=False)

    assert subjects() == [WORKER, OVER]


def test_alerts_caused_by_a_dead_worker_wait_for_its_alert() -> None:
    Mail.objects.create(template="t", to="a@example.com", subject="s", text="t", key="old")
    Mail.objects.update(due_at=F("created_at") - timedelta(hours=1))

    minutes_pass(10, silent=True)

    assert WORKER in subjects()
    assert not any("E-mails wait" in subject for subject in subjects())
    assert Alert.objects.filter(rule="mail-stands", notices=0).exists()


def test_muted_alert_is_silent_and_ends(settings: Settings) -> None:
    minutes_pass(3, silent=True)
    settings.OPERATOR_MUTED_ALERTS = {"worker-silent"}

    minutes_pass(5, silent=True)

    assert subjects() == [WORKER, OVER]
    assert not Alert.objects.filter(ended_at=None).exists()


def test_muting_applies_to_one_subject(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.OPERATOR_MUTED_ALERTS = {"disk-full:/"}
    problems = [("/", {"free": 1}), ("/srv", {"free": 2})]
    full = replace(RULES["disk-full"], condition=lambda: iter(problems))
    monkeypatch.setattr(evaluation, "RULES", {"disk-full": full})

    assert evaluation.run(Group.MINUTE)

    assert [alert.subject for alert in Alert.objects.all()] == ["/srv"]


def test_two_beats_evaluate_once() -> None:
    minutes_pass(1, silent=True)
    age(2)

    ran = at_once([lambda: evaluation.run(Group.MINUTE)] * 4)

    assert sorted(ran) == [False, False, False, True]
    assert subjects() == [WORKER]


def test_overtaken_run_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    write_heartbeat("delivery", age=100)

    def slow(*_args: object) -> tuple[dict[tuple[str, str], dict[str, int]], set[str]]:
        AlertRun.objects.update(at=datetime.fromisoformat("2030-01-01T00:00:00+00:00"))
        return {("worker-silent", ""): {"age": 1}}, {"worker-silent"}

    monkeypatch.setattr(evaluation, "_evaluate", slow)

    assert not evaluation.run(Group.MINUTE)
    assert not Alert.objects.exists()


def test_crashing_rule_keeps_its_alert_and_other_rules_running(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    minutes_pass(3, silent=True)

    def crash() -> Iterator[Problem]:
        raise ZeroDivisionError

    broken = replace(RULES["worker-silent"], condition=crash)
    monkeypatch.setitem(RULES, "worker-silent", broken)
    WalletFactory.create()
    minutes_pass(5, silent=False)

    assert subjects() == [WORKER]
    assert Alert.objects.get(rule="worker-silent").ended_at is None
