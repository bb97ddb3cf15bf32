"""Settings that cannot work are refused at start, in one sentence."""

import json
import re
import subprocess
import sys
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.environment.variables import ROOT, keyring
from tests.config.starting import GOOD, SECRET, start


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        (f"k1:{SECRET}", {"k1": SECRET}),
        (f" k1 : {SECRET} ,", {"k1": SECRET}),
        (f"{'k' * 16}:{'s' * 32}", {"k" * 16: "s" * 32}),
        (f"b:{SECRET}:x,a:{SECRET}", {"b": f"{SECRET}:x", "a": SECRET}),
        (f"ключ:{'секрет' * 6}", {"ключ": "секрет" * 6}),
    ],
)
def test_keys_are_read_in_their_order(text: str, keys: dict[str, str]) -> None:
    expected = [(key_id, secret.encode()) for key_id, secret in keys.items()]

    assert list(keyring(text).items()) == expected


MALFORMED = "must be id:secret, with an id of 1 to 16 and a secret of at least 32 printable"


@pytest.mark.parametrize(
    ("text", "expected_text"),
    [
        ("", "must hold at least one"),
        (" , ,", "must hold at least one"),
        (SECRET, f"key 1 {MALFORMED}"),
        (f":{SECRET}", f"key 1 {MALFORMED}"),
        (f"{'k' * 17}:{SECRET}", f"key 1 {MALFORMED}"),
        (f"k\x1b1:{SECRET}", f"key 1 {MALFORMED}"),
        (f"k1:{SECRET}\x00", f"key 1 {MALFORMED}"),
        (f"k1:{SECRET}\udcff", f"key 1 {MALFORMED}"),
        (f"k1:{SECRET},k2:{SECRET[:31]}", f"key 2 {MALFORMED}"),
        (f"k1:{SECRET},k2:", f"key 2 {MALFORMED}"),
        (f"k1:{SECRET},k2:{SECRET}, k1 :{SECRET}x", "key 3 has the id of another key"),
    ],
)
def test_keys_that_could_not_work_are_refused_unquoted(text: str, expected_text: str) -> None:
    with pytest.raises(ImproperlyConfigured) as caught:
        keyring(text)

    assert expected_text in str(caught.value)
    assert SECRET[:6] not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"OTP_KEYS": SECRET}, f"OTP_KEYS: key 1 {MALFORMED}"),
        ({"OTP_KEYS": ""}, "OTP_KEYS must hold at least one"),
        ({"WEBHOOK_KEYS": SECRET}, f"WEBHOOK_KEYS: key 1 {MALFORMED}"),
        ({"ENVIRONMENT": "production"}, "WEBHOOK_KEYS must hold at least one"),
        ({"PRICE_WHATSAPP": "0"}, "PRICE_WHATSAPP must be 1 or more"),
        ({"PRICE_TELEGRAM": "0"}, "PRICE_TELEGRAM must be 1 or more"),
        ({"PRICE_SMS": "-16"}, "PRICE_SMS must be 1 or more"),
        ({"LEASE": "15"}, "LEASE must exceed the sum of PROVIDER_TIMEOUT by more than 5"),
        ({"PROVIDER_TIMEOUT": "2,23"}, "LEASE must exceed the sum of PROVIDER_TIMEOUT"),
        ({"PROVIDER_TIMEOUT": "2"}, "PROVIDER_TIMEOUT must be two numbers of seconds"),
        ({"PROVIDER_TIMEOUT": "2,-8"}, "PROVIDER_TIMEOUT must be two numbers of seconds"),
        ({"PROVIDER_TIMEOUT": "2,nan"}, "PROVIDER_TIMEOUT must be two numbers of seconds"),
        ({"LOG_LEVEL": "trace"}, '"LOG_LEVEL" invalid: Not a valid log level'),
        ({"DATABASE_POOL": "0"}, "DATABASE_POOL must be 1 or more"),
        ({"DELIVERY_THREADS": "0"}, "DELIVERY_THREADS must be 1 or more"),
        ({"BODY_TIMEOUT": "0"}, "BODY_TIMEOUT must be 0.1 to 86400 seconds"),
        ({"METRICS_PORT": "none"}, '"METRICS_PORT" invalid: Not a valid integer'),
        ({"OPERATOR_COUNTRY": "Russia"}, "OPERATOR_COUNTRY must be a country code"),
        ({"TIME_ZONE": "Europe/Nowhere"}, "TIME_ZONE: this machine has no data for Europe/Nowhere"),
        ({"TIME_ZONE": "Europe"}, "TIME_ZONE: this machine has no data for Europe"),
        ({"TIME_ZONE": "../Moscow"}, "TIME_ZONE: this machine has no data for ../Moscow"),
        ({"PYTHONTZPATH": ""}, "TIME_ZONE: this machine has no data for Europe/Moscow"),
        ({"DEFAULT_FROM_EMAIL": "Kvitok a@b.example"}, "'Kvitok a@b.example' is not an address"),
        ({"CLICKHOUSE_URL": "clickhouse:9000"}, "CLICKHOUSE_URL must be https://"),
        ({"CLICKHOUSE_URL": "http://c:1/?backlog=1"}, "CLICKHOUSE_URL: backlog must be 60 or more"),
        ({"CLICKHOUSE_URL": "http://c:1/?backlg=90"}, "CLICKHOUSE_URL has no option backlg"),
        ({"CLICKHOUSE_URL": "http://c:1/?reads=yes"}, "CLICKHOUSE_URL: reads must be 0 or more"),
        ({"WHATSAPP_LANGUAGES": "ru:ru,RU:en"}, "WHATSAPP_LANGUAGES must name a template language"),
        ({"WHATSAPP_LANGUAGES": "ru:,en:en"}, "WHATSAPP_LANGUAGES must name a template language"),
        (
            {"WHATSAPP_LANGUAGES": "ru:ru,en:en,de_:de"},
            "WHATSAPP_LANGUAGES must name a template language",
        ),
        (
            {"TELEGRAM_BOT_DELIVERED_ON": "read"},
            "TELEGRAM_BOT_DELIVERED_ON must be one of accept, click, never",
        ),
    ],
)
def test_invalid_settings_are_refused(changes: dict[str, str], text: str) -> None:
    refused = start(**changes)

    last_line = refused.stderr.strip().splitlines()[-1]
    assert last_line.startswith("django.core.exceptions.ImproperlyConfigured: ")
    assert text in last_line
    assert SECRET not in refused.stderr


def options(**changes: str) -> dict[str, Any]:
    code = (
        "import json; from config import settings as s; print(json.dumps(s.DATABASES, default=str))"
    )
    output = subprocess.check_output(
        [sys.executable, "-c", code], cwd=ROOT, env=GOOD | changes, text=True
    )
    result: dict[str, Any] = json.loads(output)["default"]["OPTIONS"]
    return result


@pytest.mark.parametrize("level", ["info", "Debug", ""])
def test_log_level_is_read_in_any_case(level: str) -> None:
    assert start(LOG_LEVEL=level).returncode == 0


@pytest.mark.parametrize(("given", "milliseconds"), [(None, 10_000), ("0", 0), ("250", 250)])
def test_statements_have_their_time(given: str | None, milliseconds: int) -> None:
    result = options(**{"PGOPTIONS": f"-c statement_timeout={given}"} if given else {})

    last = result["options"].split("-c statement_timeout=")[-1]
    assert last.split()[0] == str(milliseconds)


def test_locks_have_their_time() -> None:
    given = options(DATABASE_URL="postgresql:///kvitok?options=-c%20lock_timeout%3D250")

    assert options()["options"].startswith("-c lock_timeout=3000 ")
    assert given["options"].endswith(" -c lock_timeout=250")


def test_pooler_gets_no_settings_of_the_session() -> None:
    result = options(
        DATABASE_DIRECT_URL="postgresql://db/kvitok", DATABASE_PREPARED_STATEMENTS="false"
    )

    assert "options" not in result
    assert result["prepare_threshold"] is None


def test_several_hosts_are_named_in_the_address() -> None:
    result = options(DATABASE_URL="postgresql:///kvitok?host=a,b&port=5432,5433")

    assert (result["host"], result["port"]) == ("a,b", "5432,5433")
    assert result["target_session_attrs"] == "primary"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"PAYMENT_GATEWAYS": "invoice,bitcoin"}, "no such gateway: bitcoin"),
        (
            {
                "ENVIRONMENT": "production",
                "WEBHOOK_KEYS": f"1:{SECRET}",
                "PAYMENT_GATEWAYS": "invoice,sandbox",
            },
            "sandbox takes no money: not in production",
        ),
    ],
)
def test_gateways_that_cannot_be_are_refused(changes: dict[str, str], text: str) -> None:
    done = start(**changes)

    assert done.returncode != 0
    assert text in done.stderr


def test_empty_variable_counts_as_unset() -> None:
    example = (ROOT / ".env.example").read_text("utf-8")
    names = re.findall(r"^#?([A-Z][A-Z0-9_]*)=", example, re.MULTILINE)
    empty = {name: "" for name in names if name not in GOOD} | {"WEBHOOK_KEYS": GOOD["OTP_KEYS"]}

    assert len(empty) > 100
    assert not start(**empty).stderr
