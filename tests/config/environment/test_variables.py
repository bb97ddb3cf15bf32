"""Variables are read as people and their tools write them."""

import json
import subprocess
import sys
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.mail.message import sanitize_address

from config.environment import variables
from config.environment.variables import ROOT
from tests.config.starting import GOOD

_SETTINGS = """
import json
from config import settings
values = {name: value for name, value in vars(settings).items() if name.isupper()}
print(json.dumps(values, default=lambda value: type(value).__name__, skipkeys=True))
"""


def settings_of(**environ: str) -> dict[str, Any]:
    output = subprocess.check_output(
        [sys.executable, "-c", _SETTINGS], cwd=ROOT, env=GOOD | environ, text=True
    )
    loads: dict[str, Any] = json.loads(output)
    return loads


def test_line_end_of_a_secret_s_file_changes_no_setting() -> None:
    lines = (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    pairs = [line.partition("=") for line in lines if "=" in line and not line.startswith("#")]
    written = {name: value for name, _, value in pairs if value} | GOOD
    written["WEBHOOK_KEYS"] = GOOD["OTP_KEYS"]
    ended = {name: f"\ufeff{value}\r\n" for name, value in written.items() if name != "PATH"}

    as_it_is = settings_of(**written)
    from_files = settings_of(**ended)

    assert len(written) > 40
    assert from_files == as_it_is


@pytest.mark.parametrize("name", ["ALLOWED_HOSTS", "SECRET_KEY_FALLBACKS", "LINK_BLOCKLIST"])
def test_lists_may_have_spaces(name: str) -> None:
    assert settings_of(**{name: " a.example , b.example,\n"})[name] == ["a.example", "b.example"]


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("Casino.Example., *.betting.example", ["casino.example", "betting.example"]),
        ("казино.рф", ["xn--80aodfsg.xn--p1ai"]),
        ("", []),
    ],
)
def test_hosts_are_read_as_links_are(
    monkeypatch: pytest.MonkeyPatch, text: str, hosts: list[str]
) -> None:
    monkeypatch.setenv("LINK_BLOCKLIST", text)

    assert variables.hosts("LINK_BLOCKLIST") == hosts


@pytest.mark.parametrize("text", ["https://casino.example/", "casino.example:443", "a b.example"])
def test_malformed_host_variable_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("LINK_BLOCKLIST", text)

    with pytest.raises(ImproperlyConfigured, match="is not a host"):
        variables.hosts("LINK_BLOCKLIST")


@pytest.mark.parametrize(
    ("written", "mailbox"),
    [
        ("no-reply@a.example", "no-reply@a.example"),
        ("Kvitok <no-reply@a.example>", "Kvitok <no-reply@a.example>"),
        ('"Kvitok <no-reply@a.example>"', "Kvitok <no-reply@a.example>"),
        ("'Kvitok <no-reply@a.example>'", "Kvitok <no-reply@a.example>"),
        ('"Kvitok" <no-reply@a.example>', "Kvitok <no-reply@a.example>"),
        ("Kvitok, Ltd. <no-reply@a.example>", '"Kvitok, Ltd." <no-reply@a.example>'),
        ("no-reply@localhost", "no-reply@localhost"),
        ("no-reply@почта.рф", "no-reply@xn--80a1acny.xn--p1ai"),
    ],
)
def test_sender_address_is_normalised(
    monkeypatch: pytest.MonkeyPatch, written: str, mailbox: str
) -> None:
    monkeypatch.setenv("DEFAULT_FROM_EMAIL", written)

    result = variables.mailbox("DEFAULT_FROM_EMAIL")

    assert result == mailbox
    assert sanitize_address(result, "utf-8") == mailbox


@pytest.mark.parametrize("given", ["CF-IPCountry", "cf_ipcountry", "HTTP_CF_IPCOUNTRY"])
def test_header_of_a_proxy_may_be_named_as_it_is_sent(
    monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv("COUNTRY_HEADER", given)

    assert variables.request_header("COUNTRY_HEADER") == "HTTP_CF_IPCOUNTRY"


def test_codes_are_read_in_any_case() -> None:
    result = settings_of(CURRENCY="rub", OPERATOR_COUNTRY="ru")

    assert (result["CURRENCY"], result["OPERATOR_COUNTRY"]) == ("RUB", "RU")


def test_time_zone_left_empty_is_the_default() -> None:
    assert settings_of(TIME_ZONE="")["TIME_ZONE"] == settings_of()["TIME_ZONE"] != ""
