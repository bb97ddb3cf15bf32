"""The `doctor`: its checks, its report and the remedies it names."""

import json
import subprocess
import sys
import time
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from accounts.models import Company
from billing.models import SealedDay
from channels.models import Heartbeat
from config.environment.variables import ROOT
from config.settings import EMAIL_BACKEND as DEFAULT_EMAIL_BACKEND
from links.clicks.buffer import STREAM
from operator_admin import doctor
from operator_admin.doctor import backlogs, money, processes, public_access, stores, vendors
from operator_admin.doctor.finding import Finding
from storage.redis_client import redis_client
from tests.channels.accounts import set_account
from tests.config.environment.safe_variables import SAFE
from tests.config.starting import GOOD, SECRET
from tests.factories import MessageFactory, WalletFactory
from tests.operator_admin.local_servers import proxy, site, smtp_server
from tests.operator_admin.operators import make_operator
from tests.sql import execute

pytestmark = pytest.mark.usefixtures("english")

NOWHERE = "http://127.0.0.1:1"


def run(**changes: str) -> tuple[int, dict[str, dict[str, Any]], str]:
    """Runs `manage.py doctor --json` in its own environment."""
    env = GOOD | {"LOG_LEVEL": "CRITICAL", "PUBLIC_URL": NOWHERE} | changes
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "manage.py", "doctor", "--json"],
        cwd=ROOT,
        env=env,
        text=True,
        capture_output=True,
        check=False,
    )
    result = {finding["name"]: finding for finding in json.loads(done.stdout or "[]")}
    return done.returncode, result, done.stdout + done.stderr


def crosses(found: dict[str, dict[str, Any]]) -> set[str]:
    return {name for name, check in found.items() if not check["ok"]}


def test_without_services_every_check_fails_with_a_remedy() -> None:
    code, result, output = run(EMAIL_URL="smtp://127.0.0.1:1")

    assert code == 1
    assert crosses(result) == {
        "database",
        "database texts",
        "migrations",
        "partitions ahead",
        "archives",
        "database role",
        "pooler",
        "clock",
        "redis",
        "redis memory",
        "redis persistence",
        "clicks",
        "broker",
        "web",
        "worker",
        "beat",
        "binds",
        "key rings",
        "vendor approvals",
        "ledger",
        "seals",
        "queue",
        "outboxes",
        "operators",
        "bank statement",
        "mail",
        "public URL",
        "proxies",
        "short host",
        "providers",
    }
    assert all(result[name]["remedy"] for name in crosses(result))
    assert SECRET not in output
    assert GOOD["SECRET_KEY"] not in output


def test_production_is_checked_more_strictly(tmp_path: Path) -> None:
    production = SAFE | {"PUBLIC_URL": "https://127.0.0.1:1", "STATIC_ROOT": str(tmp_path)}
    _, result, _ = run(**production)
    assert "collectstatic" in result["static files"]["remedy"]

    manifest = {"paths": {"favicon.svg": "favicon.1.svg"}, "version": "1.1", "hash": ""}
    (tmp_path / "staticfiles.json").write_text(json.dumps(manifest), encoding="utf-8")
    _, result, _ = run(**production)
    assert result["static files"]["ok"]


def test_command_prints_readable_text() -> None:
    env = GOOD | {"LOG_LEVEL": "CRITICAL", "PUBLIC_URL": NOWHERE}
    command = [sys.executable, "-W", "ignore", "manage.py", "doctor"]
    done = subprocess.run(command, cwd=ROOT, env=env, text=True, capture_output=True, check=False)

    assert done.returncode == 1
    assert "✗ database" in done.stdout
    assert "→ Start PostgreSQL" in done.stdout
    assert "need attention" in done.stdout


def test_debug_fails_the_check(settings: Settings) -> None:
    assert stores.settings_are_sound().ok
    settings.DEBUG = True

    assert "DEBUG is on" in stores.settings_are_sound().detail


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("kind", "check"),
    [("web", processes.web), ("delivery", processes.worker), ("beat", processes.beat)],
)
def test_process_that_is_silent_fails_the_check(kind: str, check: Any) -> None:
    assert check().detail == "no heartbeat yet"
    row = Heartbeat.objects.create(process=kind, kind=kind, at=timezone.now())
    assert check().ok
    row.at -= timedelta(seconds=90)
    row.save()

    assert check().detail.startswith("last heartbeat 90 s")
    assert "systemctl start" in check().remedy


@pytest.mark.django_db
def test_smpp_account_is_checked_by_its_process_heartbeat(settings: Settings) -> None:
    assert processes.binds() == []
    set_account(settings, "smpp", {"host": "127.0.0.1", "source": "Kvitok"})
    assert [bind.detail for bind in processes.binds()] == ["no heartbeat from its process"]
    details = {"bound": 0, "unanswered": 0, "window": 10}
    row = Heartbeat.objects.create(process="smpp", kind="smpp", at=timezone.now(), details=details)

    (unbound,) = processes.binds()
    row.details = {"bound": 1, "unanswered": 3, "window": 10}
    row.save()
    (bound,) = processes.binds()

    assert (unbound.ok, unbound.detail) == (False, "not bound")
    assert "SMPP_URL" in unbound.remedy
    assert (bound.ok, bound.detail) == (True, "bound, 3 of 10 under way")
    assert "SMPP" not in [provider.name for provider in vendors.providers()]


@pytest.mark.django_db(transaction=True)
def test_breach_of_the_books_fails_the_check() -> None:
    assert money.ledger().ok
    wallet = WalletFactory.create(held=5)

    result = money.ledger()

    assert result.detail == f"held differs from the open holds: company {wallet.company_id}"
    assert "reconcile" in result.remedy


@pytest.mark.django_db
def test_unsealed_days_fail_the_check(company: Company) -> None:
    assert money.seals().detail == "no transfer is sealed yet"
    assert money.seals().ok
    Company.objects.update(created_at=timezone.now() - timedelta(days=9))
    assert not money.seals().ok

    today = timezone.now().astimezone(UTC).date()
    for days, ok in ((3, False), (2, True)):
        SealedDay.objects.create(day=today - timedelta(days=days), companies=0, head="0" * 64)
        assert money.seals().ok is ok


@pytest.mark.django_db
def test_stalled_queue_fails_the_check() -> None:
    MessageFactory.create()
    assert backlogs.queue().ok
    MessageFactory.create(due_at=timezone.now() - timedelta(minutes=5))

    assert backlogs.queue().detail.startswith("due: 1, the oldest has waited 300 s")


def test_uncounted_clicks_fail_the_check() -> None:
    redis_client().delete(STREAM)
    assert backlogs.clicks().ok
    redis_client().xadd(STREAM, {"id": "a"}, id=f"{int(time.time() - 90) * 1000}-0")

    clicks = backlogs.clicks()

    redis_client().delete(STREAM)
    assert not clicks.ok
    assert clicks.detail.startswith("the oldest uncounted click has waited")
    assert "worker" in clicks.remedy


@pytest.mark.usefixtures("no_redis")
def test_clicks_without_redis_fail_the_check() -> None:
    assert not backlogs.clicks().ok


@pytest.mark.django_db
def test_emails_that_wait_fail_the_check() -> None:
    assert backlogs.outboxes().ok
    execute(
        'INSERT INTO accounts_mail (id, template, "to", subject, text, html, due_at)'
        " VALUES (gen_random_uuid(), 'x', 'a@b.c', 's', 't', '', now() - interval '1 hour')"
    )

    assert "e-mails due: 1, the oldest has waited 3600 s" in backlogs.outboxes().detail


@pytest.mark.django_db
def test_operator_without_a_second_factor_fails_the_check(settings: Settings) -> None:
    settings.OPERATOR_MFA = True
    make_operator()
    assert public_access.operators().ok
    make_operator(has_factor=False)

    assert public_access.operators().detail == "operators: 2, without a second factor: 1"
    assert not public_access.operators().ok


def test_doctor_checks_the_mail_server(settings: Settings) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST = "127.0.0.1"
    with smtp_server() as port:
        settings.EMAIL_PORT = port
        assert public_access.mail_server().ok

    assert "EMAIL_URL" in public_access.mail_server().remedy


@pytest.mark.parametrize("sender", ["Kvitok <no-reply@localhost>", "no-reply@example.com"])
def test_sender_that_is_nobodys_fails_the_check_in_production(
    settings: Settings, sender: str
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.PRODUCTION = True
    settings.EMAIL_HOST = "127.0.0.1"
    settings.DEFAULT_FROM_EMAIL = sender
    with smtp_server() as port:
        settings.EMAIL_PORT = port
        found = public_access.mail_server()

    assert not found.ok
    assert "DEFAULT_FROM_EMAIL" in found.remedy


def test_default_backend_in_development_names_its_folder(
    settings: Settings, tmp_path: Path
) -> None:
    settings.EMAIL_BACKEND = DEFAULT_EMAIL_BACKEND
    settings.EMAIL_FILE_PATH = tmp_path / "mail"

    assert public_access.mail_server().detail == "e-mails are written to mail/"


def test_email_server_that_refuses_the_password_fails_the_check(settings: Settings) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST = "127.0.0.1"
    settings.EMAIL_HOST_USER = "kvitok"
    settings.EMAIL_HOST_PASSWORD = "wr0ng"
    with smtp_server() as port:
        settings.EMAIL_PORT = port
        result = public_access.mail_server()

    assert not result.ok
    assert "wr0ng" not in result.detail


@pytest.mark.django_db(transaction=True)
def test_our_own_addresses_pass(live_server: LiveServer, settings: Settings) -> None:
    settings.PUBLIC_URL = settings.SHORT_URL = live_server.url

    assert [
        public_access.public_url().ok,
        public_access.proxies().ok,
        public_access.short_host().ok,
    ] == [True] * 3


@pytest.mark.parametrize("status", [200, 404, 502])
def test_addresses_of_another_site_fail_the_check(settings: Settings, status: int) -> None:
    with site(status) as url:
        settings.PUBLIC_URL = settings.SHORT_URL = url
        result = public_access.public_url(), public_access.proxies(), public_access.short_host()

    assert [check.ok for check in result] == [status == 200, False, False]


def test_unreachable_addresses_fail_the_check(settings: Settings) -> None:
    settings.PUBLIC_URL = settings.SHORT_URL = NOWHERE

    result = [public_access.public_url(), public_access.proxies(), public_access.short_host()]

    assert [check.ok for check in result] == [False] * 3


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("proxies", "trusted", "text"),
    [
        (0, 0, ""),
        (1, 1, ""),
        (2, 2, ""),
        (0, 1, "Lower TRUSTED_PROXY_COUNT"),
        (1, 2, "Lower TRUSTED_PROXY_COUNT"),
        (1, 0, "Set TRUSTED_PROXY_COUNT=1"),
        (2, 1, "Set TRUSTED_PROXY_COUNT=2"),
    ],
)
def test_proxies_are_counted(
    live_server: LiveServer, settings: Settings, proxies: int, trusted: int, text: str
) -> None:
    settings.TRUSTED_PROXY_COUNT = trusted
    with proxy(live_server.url, proxies) as url:
        settings.PUBLIC_URL = url
        result = public_access.proxies()

    assert result.remedy.startswith(text)
    assert result.ok == (text == "")


def test_trusted_misspelt_header_fails_the_check(settings: Settings) -> None:
    settings.TRUSTED_PROXY_COUNT = 1

    finding = public_access._judge_proxies(
        {"client_ip": public_access.UNDERSCORE_IP, "forwarded": 1, "secure": True}
    )

    assert (finding.ok, finding.detail) == (False, "X_Forwarded_For was believed")
    assert "python -m config.web_server" in finding.remedy


def test_crashing_check_keeps_others_visible() -> None:
    def breaks() -> Finding:
        raise RuntimeError("no")

    (result,) = doctor.run(breaks)

    assert (result.ok, result.detail) == (False, "could not be checked: RuntimeError")


def test_translations_that_are_not_compiled_fail_the_check(
    settings: Settings, tmp_path: Path
) -> None:
    settings.LOCALE_PATHS = [tmp_path]
    source = tmp_path / "ru" / "LC_MESSAGES" / "django.po"
    source.parent.mkdir(parents=True)
    source.touch()
    assert "pybabel compile" in processes.translations().remedy

    source.with_suffix(".mo").touch()
    assert processes.translations().ok
