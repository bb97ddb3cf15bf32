"""Each condition is met by the real situation that it is about, and not without it."""

import re
import time
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone, translation
from pytest_django import Settings

from accounts.models import Mail
from channels import tasks
from channels.models import ProviderAccount, ProviderAlert
from links.clicks.buffer import STREAM
from operator_admin import views
from operator_admin.alerts import conditions
from operator_admin.alerts.rules import RULES, Group
from operator_admin.models import Alert
from storage.redis_client import redis_client
from tests.channels.accounts import set_account
from tests.factories import AttemptFactory, DeliveryFactory, MessageFactory, WalletFactory
from tests.operator_admin.alerts.conftest import write_heartbeat

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("service")]

LATE = timedelta(hours=1)


@pytest.fixture(autouse=True)
def twilio(settings: Settings) -> None:
    set_account(settings, "twilio", {"auth_token": "t", "account_sid": "AC1", "sender": "+1"})


def problems_of(name: str) -> list[conditions.Problem]:
    rule = RULES[name]
    problems = list(rule.condition())
    for subject, details in problems:  # the details fill the texts
        alert = Alert(rule=name, subject=subject, details=details, began_at=timezone.now())
        assert "%(" not in "".join(rule.texts_of(alert))
    return problems


def test_service_in_order_has_no_problem() -> None:
    names = [name for name, rule in RULES.items() if rule.group is Group.MINUTE]
    names.remove("disk-full")

    assert {name: problems_of(name) for name in names} == {name: [] for name in names}


@pytest.mark.parametrize(
    ("kind", "name"),
    [("delivery", "worker-silent"), ("beat", "beat-silent"), ("web", "web-silent")],
)
def test_silent_process_is_a_problem(kind: str, name: str) -> None:
    write_heartbeat(kind, age=61)
    assert problems_of(name) == [("", {"age": 61})]

    write_heartbeat(kind).delete()
    assert problems_of(name) == [("", {"age": "∞"})]


def test_stalled_queue_is_a_problem() -> None:
    MessageFactory.create(due_at=timezone.now() - LATE)

    ((subject, details),) = problems_of("queue-stands")

    assert (subject, details["due"]) == ("", 1)
    assert details["age"] == pytest.approx(3600, abs=5)


def test_stalled_outboxes_are_problems() -> None:
    delivery = DeliveryFactory.create()
    type(delivery).objects.update(due_at=timezone.now() - LATE)
    Mail.objects.create(template="t", to="a@example.com", subject="s", text="t", key="k")
    Mail.objects.update(due_at=timezone.now() - LATE)

    assert [problems_of(name)[0][1]["due"] for name in ("webhooks-stand", "mail-stands")] == [1, 1]


def test_open_breaker_names_the_account_and_the_reason() -> None:
    soon = timezone.now() + LATE
    ProviderAccount.objects.create(name="twilio", open_until=soon, reason="20003: Authenticate")
    ProviderAccount.objects.create(name="gone", open_until=soon, reason="no such account")

    assert problems_of("provider-paused") == [("twilio", {"reason": "20003: Authenticate"})]

    ProviderAccount.objects.update(is_enabled=False)
    assert problems_of("provider-paused") == []


def test_failing_calls_exclude_unreachable_people() -> None:
    for number in range(30):
        kind = "unreachable" if number < 20 else ""
        AttemptFactory.create(provider="twilio", error_class=kind)
    assert problems_of("provider-fails") == []

    for _ in range(10):
        AttemptFactory.create(provider="twilio", error_class="refused")
    assert problems_of("provider-fails") == [("twilio", {"calls": 40, "failures": 10})]


def test_delivery_that_falls() -> None:
    for number in range(60):
        MessageFactory.create(channel="sms", state="delivered" if number % 2 else "failed")

    assert problems_of("delivery-falls") == [("sms", {"delivered": 30, "final": 60})]


def test_low_balance_of_the_last_day() -> None:
    ProviderAlert.objects.create(
        provider="twilio", code="balance_low", detail="0.17 USD left", kind="warning"
    )
    assert problems_of("balance-low") == [("twilio", {"reason": "0.17 USD left"})]

    ProviderAlert.objects.update(at=timezone.now() - timedelta(days=2))
    assert problems_of("balance-low") == []


def test_deaf_web_process_raises_an_alert() -> None:
    write_heartbeat("web", listening=0)

    assert problems_of("listener-down") == [("", {"count": 1})]


@pytest.mark.usefixtures("no_redis")
def test_unavailable_redis_is_one_alert() -> None:
    assert problems_of("redis-down") == [("", {})]
    assert problems_of("clicks-stand") == []


def test_clicks_late_for_clickhouse_raise_an_alert(settings: Settings) -> None:
    redis_client().xgroup_create(STREAM, "clickhouse", id="0", mkstream=True)
    redis_client().xadd(STREAM, {"id": "a"}, id=f"{int(time.time() - 400) * 1000}-0")
    unset = problems_of("clickhouse-late")
    settings.CLICKHOUSE_URL = "http://127.0.0.1:1/"

    late = problems_of("clickhouse-late")

    redis_client().delete(STREAM)
    assert unset == []
    assert late == [("", {"age": pytest.approx(400, abs=30)})]


def test_ledger_breach_raises_an_alert_until_it_is_gone() -> None:
    wallet = WalletFactory.create(available=7)  # without a transfer
    tasks.check_ledger(recent=False)

    ((_subject, details),) = problems_of("ledger-breach")
    assert details["reason"] == f"wallet differs from its transfers: company {wallet.company_id}"

    wallet.delete()
    tasks.check_ledger(recent=False)
    assert problems_of("ledger-breach") == []


def test_full_disk_is_reported_with_its_free_share(monkeypatch: pytest.MonkeyPatch) -> None:
    def usage(_path: Any) -> SimpleNamespace:
        return SimpleNamespace(total=100, free=7)

    monkeypatch.setattr("shutil.disk_usage", usage)

    problems = problems_of("disk-full")
    assert problems
    assert {details["free"] for _subject, details in problems} == {7}
    with translation.override("en"):
        alert = Alert(rule="disk-full", subject="/", details={"free": 7})
        assert RULES["disk-full"].texts_of(alert)[1] == "/: 7% free."


RUNBOOK = Path("docs/operations/alerts.md")
CYRILLIC = re.compile("[а-яё]", re.IGNORECASE)


def test_rule_is_in_the_runbook_and_in_russian() -> None:
    runbook = RUNBOOK.read_text(encoding="utf-8")

    for name in RULES:
        assert f"| `{name}` |" in runbook
        with translation.override("ru"):
            rule = views.describe(name, RULES[name])
        assert CYRILLIC.search(str(rule["title"])) or name == "doctor", name
        assert CYRILLIC.search(str(rule["remedy"])), name


def test_causes_are_rules() -> None:
    assert {cause for rule in RULES.values() for cause in rule.causes} <= set(RULES)
