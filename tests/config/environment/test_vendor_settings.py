"""Further accounts of a vendor read variables of their own."""

import pytest
from django.test import override_settings

from channels.vendor_accounts import registry
from config.environment import vendor_settings
from tests.config.test_settings import start

KZ = {"TWILIO_ACCOUNTS": "kz", "TWILIO_KZ_AUTH_TOKEN": "secret", "TWILIO_KZ_FROM": "+77010000000"}


def test_named_account_has_what_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TWILIO_AUTH_TOKEN", "another secret")
    for name, value in (KZ | {"TWILIO_ACCOUNTS": " kz, uz,"}).items():
        monkeypatch.setenv(name, value)

    found = vendor_settings._further_accounts("TWILIO", vendor_settings._twilio)

    assert found == {
        "kz": {
            "api_url": "https://api.twilio.com",
            "proxy": "",
            "account_sid": "",
            "auth_token": "secret",
            "sender": "+77010000000",
        },
        "uz": {
            "api_url": "https://api.twilio.com", "proxy": "", "account_sid": "", "auth_token": "",
            "sender": "",
        },
    }  # fmt: skip


def test_without_names_there_is_the_first_account_alone() -> None:
    assert start().returncode == 0
    assert vendor_settings._further_accounts("TWILIO", vendor_settings._twilio) == {}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"TWILIO_ACCOUNTS": "KZ"}, "'KZ' must be 1 to 12 lower-case letters and digits"),
        ({"TWILIO_ACCOUNTS": "k-z"}, "'k-z' must be"),
        ({"TWILIO_ACCOUNTS": "7"}, "'7' must be"),
        ({"TWILIO_ACCOUNTS": "kz,kz"}, "TWILIO_ACCOUNTS names an account twice"),
        (
            {
                **KZ,
                "TWILIO_KZ_API_URL": "http://x.example",
                "ENVIRONMENT": "production",
                "WEBHOOK_KEYS": f"1:{'x' * 32}",
                "PUBLIC_URL": "https://x.example",
            },
            "providers' API URLs must be https in production",
        ),
    ],
)
def test_accounts_that_could_not_work_are_refused(changes: dict[str, str], words: str) -> None:
    refused = start(**changes)

    assert refused.returncode != 0
    assert words in refused.stderr


def test_further_smpp_accounts_are_hosted_each_by_a_process_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = {"HOST": "smpp.example", "SYSTEM_ID": "kvitok", "SOURCE": "12345", "TLS": "no"}
    for name, value in own.items():
        monkeypatch.setenv(f"SMPP_KZ_{name}", value)
    monkeypatch.setenv("SMPP_ACCOUNTS", "kz")

    found = vendor_settings._further_accounts("SMPP", vendor_settings._smpp)["kz"]

    assert (found["host"], found["port"], found["tls"]) == ("smpp.example", 2775, False)
    with override_settings(FURTHER_ACCOUNTS={"SMPP": {"kz": found}}):
        registry.clear_caches()
        assert list(registry.hosted_providers()) == ["smpp:kz"]
        assert "smpp:kz" not in registry.accounts_called_by(None)
    registry.clear_caches()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"SMPP_ACCOUNTS": "kz", "SMPP_KZ_HOST": "a.example"}, "SMPP_KZ_SYSTEM_ID"),
        ({"SMPP_PORT": "many"}, "SMPP_PORT must be a number, not 'many'"),
        ({"SMPP_ENQUIRE": "often"}, "SMPP_ENQUIRE must be a number, not 'often'"),
    ],
)
def test_smpp_account_that_could_not_work_is_refused(changes: dict[str, str], words: str) -> None:
    refused = start(**changes)

    assert refused.returncode != 0
    assert words in refused.stderr
