"""Prometheus metrics: summed over processes, and read from the database."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import requests
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from channels.models import Heartbeat
from config.environment.variables import ROOT
from links.clicks.buffer import STREAM
from operator_admin.prometheus import DatabaseCollector
from otp.models import GuardProgress, GuardRestriction
from storage.redis_client import redis_client
from tests.channels.accounts import name_accounts, set_account
from tests.config.starting import GOOD
from tests.factories import (
    AttemptFactory,
    CompanyFactory,
    MessageFactory,
    ReceiptFactory,
    WalletFactory,
)
from tests.links.visiting import without_redis
from tests.ports import free_port

COUNT = """
import django; django.setup()
from processes.monitoring import metrics
for _ in range(3):
    metrics.count_request("SendCode", 200, 0.02)
metrics.count_request("SendCode", 429, 0.001)
metrics.count_message("live", "sms", "delivered")
metrics.count_call("twilio", "throttled", 0.3)
metrics.set_breaches("recent", 2)
"""


def environment(tmp_path: Path, port: str = "1") -> dict[str, str]:
    return GOOD | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "METRICS_PORT": port,
        "METRICS_DIR": str(tmp_path),
        "LOG_LEVEL": "CRITICAL",
    }


def page(port: int) -> dict[str, float]:
    text = requests.get(f"http://127.0.0.1:{port}/metrics", timeout=20).text
    lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


def test_counters_are_summed_and_served_on_metrics_port(tmp_path: Path) -> None:
    port = free_port()
    env = environment(tmp_path, str(port))
    for _ in range(2):
        subprocess.run([sys.executable, "-W", "ignore", "-c", COUNT], cwd=ROOT, env=env, check=True)
    server = subprocess.Popen(
        [sys.executable, "-W", "ignore", "manage.py", "run_metrics"],
        cwd=ROOT,
        env=env,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    try:
        assert server.stdout.readline() == f"http://127.0.0.1:{port}/metrics\n"
        result = page(port)
    finally:
        server.send_signal(signal.SIGTERM)
        code = server.wait(20)
        server.stdout.close()

    assert code == 0
    assert result['kvitok_api_seconds_count{call="SendCode",status="200"}'] == 6
    assert result['kvitok_api_seconds_count{call="SendCode",status="429"}'] == 2
    assert result['kvitok_api_seconds_bucket{call="SendCode",le="0.01",status="429"}'] == 2
    assert result['kvitok_api_seconds_bucket{call="SendCode",le="0.01",status="200"}'] == 0
    assert result['kvitok_messages_total{channel="sms",mode="live",state="delivered"}'] == 2
    assert result['kvitok_provider_seconds_count{provider="twilio",result="throttled"}'] == 2
    assert result['kvitok_ledger_breaches{scope="recent"}'] == 2
    assert result["kvitok_database_up"] == 0


def test_nothing_is_counted_without_a_port(tmp_path: Path) -> None:
    env = environment(tmp_path, "")
    subprocess.run([sys.executable, "-W", "ignore", "-c", COUNT], cwd=ROOT, env=env, check=True)
    served = subprocess.run(
        [sys.executable, "-W", "ignore", "manage.py", "run_metrics"],
        cwd=ROOT,
        env=env,
        text=True,
        capture_output=True,
        check=False,
    )

    assert list(tmp_path.iterdir()) == []
    assert served.returncode == 1
    assert "METRICS_PORT is empty" in served.stderr


@pytest.mark.django_db
def test_public_port_has_no_such_page(client: Client) -> None:
    assert client.get("/metrics").status_code == 404


def gauges() -> dict[str, float]:
    return {
        sample.name + "".join(sample.labels.values()): sample.value
        for family in DatabaseCollector().collect()
        for sample in family.samples
    }


@pytest.mark.django_db(transaction=True)
def test_gauges_match_the_database() -> None:
    WalletFactory.create(held=17)
    MessageFactory.create(due_at=timezone.now() - timedelta(seconds=60))
    ambiguous = AttemptFactory.create(state="ambiguous", message__due_at=None)
    ReceiptFactory.create(attempt=ambiguous)
    late = {"state": "submitting", "lease_until": timezone.now() - timedelta(seconds=5)}
    AttemptFactory.create(**late, provider_id=None, message__due_at=None)
    beats = [("web a", "web", 2, 1), ("web b", "web", 3, 0), ("web gone", "web", 9, 0)]
    for process, kind, waiters, listening in beats:
        age = timedelta(seconds=90 if "gone" in process else 1)
        details = {"waiters": waiters, "listening": listening}
        Heartbeat.objects.create(
            process=process, kind=kind, at=timezone.now() - age, details=details
        )

    result = gauges()

    assert result["kvitok_database_up"] == 1
    assert result["kvitok_queue_due"] == 1
    assert 60 <= result["kvitok_queue_oldest_seconds"] < 120
    assert (result["kvitok_open_messages"], result["kvitok_open_holds_tokens"]) == (3, 17)
    assert result["kvitok_ambiguous_attempts"] == 1
    assert (result["kvitok_open_leases"], result["kvitok_overdue_leases"]) == (1, 1)
    assert result["kvitok_parked_receipts"] == 1
    assert (result["kvitok_waiters"], result["kvitok_listeners_down"]) == (5, 1)
    assert 1 <= result["kvitok_heartbeat_age_secondsweb"] < 30


@pytest.mark.django_db(transaction=True)
def test_sends_held_back_as_pumping_are_exported() -> None:
    now = timezone.now()
    shared = {"company": CompanyFactory.create(), "kind": "prefix-4", "until": now, "began_at": now}
    step = GuardRestriction.Step
    GuardRestriction.objects.create(value="+1", step=step.REFUSE, is_enforced=True, **shared)
    GuardRestriction.objects.create(value="+2", step=step.REFUSE, is_enforced=False, **shared)
    ended = {"step": step.REFUSE, "is_enforced": True, "ended_at": now}
    GuardRestriction.objects.create(value="+3", **ended, **shared)
    GuardProgress.objects.create(pk=1, counted_until=now - timedelta(seconds=40))

    result = gauges()

    assert result["kvitok_guard_restrictionsrefuse"] == 1
    assert result["kvitok_guard_restrictionschallenge"] == 0
    assert 40 <= result["kvitok_guard_counted_seconds"] < 60


@pytest.mark.django_db(transaction=True)
def test_age_of_uncounted_clicks_is_exported() -> None:
    redis_client().delete(STREAM)
    none = gauges()["kvitok_clicks_oldest_seconds"]
    redis_client().xadd(STREAM, {"id": "a"}, id=f"{int(time.time() - 90) * 1000}-0")

    result = gauges()["kvitok_clicks_oldest_seconds"]

    redis_client().delete(STREAM)
    assert none == 0
    assert 90 <= result < 120


@pytest.mark.django_db(transaction=True)
def test_age_of_clicks_that_are_not_in_clickhouse_is_exported(settings: Settings) -> None:
    settings.CLICKHOUSE_URL = "http://127.0.0.1:1/"
    redis_client().xgroup_create(STREAM, "clickhouse", id="0", mkstream=True)
    redis_client().xadd(STREAM, {"id": "a"}, id=f"{int(time.time() - 90) * 1000}-0")

    result = gauges()["kvitok_clickhouse_oldest_seconds"]

    redis_client().delete(STREAM)
    assert 90 <= result < 120


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("redis_away")
def test_without_redis_the_age_of_clicks_is_not_known() -> None:
    result = gauges()

    assert "kvitok_clicks_oldest_seconds" not in result
    assert result["kvitok_database_up"] == 1


@pytest.fixture
def redis_away(settings: Settings) -> Iterator[None]:
    with without_redis(settings):
        yield


@pytest.mark.django_db(transaction=True)
def test_bind_is_exported_while_its_process_is_alive() -> None:
    details = {"in_flight": 3, "bound": 1, "unanswered": 3, "window": 10}
    now = timezone.now()
    heartbeat = Heartbeat.objects.create(process="smpp a", kind="smpp", at=now, details=details)

    result = gauges()
    heartbeat.at -= timedelta(seconds=90)
    heartbeat.save()
    later = gauges()

    names = ("kvitok_smpp_boundsmpp", "kvitok_smpp_window_usedsmpp", "kvitok_smpp_windowsmpp")
    assert [result[name] for name in names] == [1, 3, 10]
    assert later.keys() & set(names) == set()


@pytest.mark.django_db(transaction=True)
def test_alert_of_a_dead_process_stays_after_its_row_is_deleted(settings: Settings) -> None:
    set_account(settings, "smpp", {"host": "127.0.0.1", "system_id": "kvitok", "source": "Kvitok"})
    name_accounts(settings, "kz", vendor="smpp")
    kinds = ("web", "delivery", "beat", "smpp", "smpp:kz")
    Heartbeat.objects.create(process="web a", kind="web", at=timezone.now())

    ages = {kind: gauges()[f"kvitok_heartbeat_age_seconds{kind}"] for kind in kinds}

    rules = (ROOT / "deploy" / "prometheus.rules.yml").read_text(encoding="utf-8")
    asked = re.findall(r'kvitok_heartbeat_age_seconds\{kind=~?"(.+?)"\} > 60', rules)
    assert [kind for kind in kinds if ages[kind] > 60] == list(kinds[1:])
    assert [any(re.fullmatch(kind, name) for kind in asked) for name in kinds] == [True] * 5


@pytest.mark.django_db
def test_every_alert_and_panel_asks_for_a_metric_that_exists(settings: Settings) -> None:
    settings.CLICKHOUSE_URL = "http://127.0.0.1:1/"
    names = set(gauges())
    counted = {
        "kvitok_api_seconds_count",
        "kvitok_api_seconds_bucket",
        "kvitok_messages_total",
        "kvitok_provider_seconds_count",
        "kvitok_provider_seconds_bucket",
        "kvitok_ledger_breaches",
        "kvitok_heartbeat_age_seconds",
        "kvitok_smpp_bound",
    }
    asked = set()
    for name in ("prometheus.rules.yml", "grafana.json"):
        text = (ROOT / "deploy" / name).read_text(encoding="utf-8")
        asked |= set(re.findall(r"\bkvitok_\w+", text))

    assert asked
    assert asked - names - counted == set()
