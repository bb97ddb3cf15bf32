"""The page of alerts, and the command that tries their recipients."""

from io import StringIO

import pytest
import responses
from django.core import mail as django_mail
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from operator_admin.alerts.rules import RULES
from operator_admin.models import Alert
from tests.operator_admin.alerts.conftest import URL, accept, texts
from tests.operator_admin.operators import make_operator, sign_in

pytestmark = pytest.mark.django_db


def alert(rule: str, **fields: object) -> Alert:
    now = timezone.now()
    values = {"details": {"due": 1, "age": 99, "reason": "<b>", "count": 9}, "began_at": now}
    return Alert.objects.create(rule=rule, **values | {"due_at": now, "notices": 1} | fields)


@pytest.fixture
def operator(client: Client) -> Client:
    sign_in(client, make_operator(), "password", "mfa")
    return client


def test_alerts_page_shows_open_and_ended_alerts(operator: Client) -> None:
    alert("queue-stands")
    alert("ledger-breach")
    alert("outcomes-unknown", notices=0)  # pending
    alert("receipts-parked", ended_at=timezone.now())
    alert("of-an-older-release")

    html = operator.get(reverse("admin:alerts")).content.decode()

    assert "Открыты 2 оповещения." in html
    assert "Ждут: 1; самое старое\u00a0— 99\u00a0с." in html
    assert "&lt;b&gt;" in html
    assert "Таких отчётов: 9." in html
    assert all(f'id="{name}"' in html for name in RULES)
    assert "Открыты 3 оповещения." in operator.get(reverse("admin:index")).content.decode()


def test_page_takes_the_same_queries_for_more_alerts(
    operator: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for rule in ("queue-stands", "redis-down", "web-silent", "beat-silent"):
        alert(rule)

    with django_assert_max_num_queries(12):
        operator.get(reverse("admin:alerts"))


def test_command_writes_to_everyone(telegram: responses.RequestsMock, settings: Settings) -> None:
    settings.OPERATOR_EMAILS = ["a@example.com", "b@example.com"]
    accept(telegram)
    out = StringIO()

    call_command("send_test_alert", stdout=out)

    assert [email.to for email in django_mail.outbox] == [["a@example.com"], ["b@example.com"]]
    assert len(texts(telegram)) == 1
    assert out.getvalue().count("✓") == 3


def test_command_names_recipients_that_failed(
    telegram: responses.RequestsMock, settings: Settings
) -> None:
    settings.OPERATOR_EMAILS = ["a@example.com"]
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_PORT = 1
    refusal = {"ok": False, "error_code": 400, "description": "Bad Request: chat not found"}
    telegram.post(URL, status=400, json=refusal)
    out = StringIO()

    with pytest.raises(CommandError):
        call_command("send_test_alert", stdout=out)

    assert "✗ a@example.com: ConnectionRefusedError" in out.getvalue()
    assert "chat not found" in out.getvalue()


def test_command_fails_without_recipients() -> None:
    with pytest.raises(CommandError, match="OPERATOR_EMAILS"):
        call_command("send_test_alert", stdout=StringIO())
