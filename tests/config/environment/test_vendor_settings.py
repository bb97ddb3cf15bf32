"""Accounts with vendors are read from their own variables."""

import pytest
from django.test import override_settings

from billing.gateways.declarations import GATEWAYS
from catalogue.account_options import variable
from channels.providers.vendors import VENDORS
from channels.vendor_accounts import registry
from config.environment import vendor_settings
from config.environment.variables import ROOT
from tests.config.starting import start

KZ = {"TWILIO_ACCOUNTS": "kz", "TWILIO_KZ_AUTH_TOKEN": "secret", "TWILIO_KZ_FROM": "+77010000000"}
SMPP = (
    "smpps://kvitok:p%40ss@a.example,b.example:2776?source=12345&window=20&statuses=0x401%3Daccount"
)


def test_named_account_has_its_own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TWILIO_AUTH_TOKEN", "another secret")
    for name, value in (KZ | {"TWILIO_ACCOUNTS": " kz, uz,"}).items():
        monkeypatch.setenv(name, value)

    accounts = vendor_settings.accounts()

    assert accounts["twilio"]["auth_token"] == "another secret"
    kz = accounts["twilio:kz"]
    uz = accounts["twilio:uz"]
    assert (kz["account_sid"], kz["auth_token"], kz["sender"]) == ("", "secret", "+77010000000")
    assert (uz["account_sid"], uz["auth_token"], uz["sender"]) == ("", "", "")


def test_every_declared_variable_is_listed_in_the_example() -> None:
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    names = {
        vendor.variable(option.name) for vendor in VENDORS.values() for option in vendor.options
    }
    names |= {
        variable(gateway.prefix, option)
        for gateway in GATEWAYS.values()
        for option in gateway.options
    }
    names |= {
        f"{vendor.prefix}_ACCOUNTS" for vendor in VENDORS.values() if vendor.has_further_accounts
    }

    assert len(names) > 30
    assert [name for name in sorted(names) if f"\n{name}=" not in example] == []


def test_without_names_only_the_first_account_exists() -> None:
    assert start().returncode == 0
    assert not any(":" in name for name in vendor_settings.accounts())


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"TWILIO_ACCOUNTS": "KZ"}, "'KZ' must be 1 to 12 lower-case letters and digits"),
        ({"TWILIO_ACCOUNTS": "k-z"}, "'k-z' must be"),
        ({"TWILIO_ACCOUNTS": "7"}, "'7' must be"),
        ({"TWILIO_ACCOUNTS": "kz,kz"}, "TWILIO_ACCOUNTS names an account twice"),
        ({"VENDOR_URLS": "twilio:kz=https://x.example"}, "no such account: 'twilio:kz'"),
        ({"VENDOR_URLS": "https://x.example"}, "VENDOR_URLS: no such account: ''"),
        (
            {
                **KZ,
                "VENDOR_URLS": "twilio:kz=http://x.example",
                "ENVIRONMENT": "production",
                "WEBHOOK_KEYS": f"1:{'x' * 32}",
                "PUBLIC_URL": "https://x.example",
            },
            "VENDOR_URLS must be https in production",
        ),
    ],
)
def test_accounts_that_could_not_work_are_refused(changes: dict[str, str], text: str) -> None:
    refused = start(**changes)

    assert refused.returncode != 0
    assert text in refused.stderr


def test_each_smpp_account_has_its_own_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SMPP_KZ_URL", SMPP)
    monkeypatch.setenv("SMPP_ACCOUNTS", "kz")

    result = vendor_settings.accounts()["smpp:kz"]

    assert (result["host"], result["port"], result["tls"]) == (
        "a.example,b.example:2776",
        2775,
        True,
    )
    assert (result["system_id"], result["password"], result["window"]) == ("kvitok", "p@ss", 20)
    assert result["statuses"] == {"0x401": "account"}
    with override_settings(PROVIDER_ACCOUNTS=vendor_settings.accounts()):
        registry.clear_caches()
        assert list(registry.hosted_providers()) == ["smpp:kz"]
        assert "smpp:kz" not in registry.accounts_called_by(None)
    registry.clear_caches()


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("smpps://a.example", "SMPP_KZ_URL needs a system_id before the host, and source="),
        ("https://a.example", "SMPP_KZ_URL must be smpps://system_id:password@host:port"),
        ("smpps://me:s3cret@a.example?window=many", "SMPP_KZ_URL: window "),
        ("smpps://me:s3cret@a.example?enquire=often", "SMPP_KZ_URL: enquire "),
        ("smpps://me:s3cret@a.example?sender=x", "SMPP_KZ_URL has no option sender; known: "),
        ("smpps://me:s3cret@a.example?sourcex", "SMPP_KZ_URL "),
        ("smpps://me:x?s3cret@a.example", "where # / ? are %23 %2F %3F"),
        ("smpps://me:s3cret#x@a.example?source=x", "where # / ? are %23 %2F %3F"),
    ],
)
def test_smpp_account_that_could_not_work_is_refused(url: str, text: str) -> None:
    refused = start(SMPP_ACCOUNTS="kz", SMPP_KZ_URL=url)

    assert refused.returncode != 0
    assert text in refused.stderr
    assert "s3cret" not in refused.stderr
