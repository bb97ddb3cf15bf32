"""Simulated accounts: our checks name what they lack, our providers read their approvals."""

from collections.abc import Iterator

import pytest
import requests

from channels.providers.base import (
    AccountRequirements,
    Approval,
    ApprovalKind,
    ApprovalStatus,
    Check,
    Provider,
)
from tests.channels.providers.vendors import bot, gateway, max_bot, smsc, twilio, whatsapp
from tests.tools.simulator.peers import ACCOUNT, Simulator

SERVICE = "MG" + "0" * 32


@pytest.fixture(autouse=True)
def _whole_again(simulator: Simulator) -> Iterator[None]:
    yield
    lack(simulator)


def lack(simulator: Simulator, *words: str) -> requests.Response:
    return requests.put(f"{simulator.url}/missing", json={"missing": list(words)}, timeout=5)


def account(simulator: Simulator, vendor: str) -> Provider:
    if vendor == "whatsapp":
        return whatsapp(
            api_url=f"{simulator.url}/whatsapp",
            token=ACCOUNT["WHATSAPP_TOKEN"],
            phone_number_id=ACCOUNT["WHATSAPP_PHONE_NUMBER_ID"],
            business_account_id=ACCOUNT["WHATSAPP_BUSINESS_ACCOUNT_ID"],
            app_secret=ACCOUNT["WHATSAPP_APP_SECRET"],
        )
    if vendor == "bot":
        token = ACCOUNT["TELEGRAM_BOT_TOKEN"]
        secret = ACCOUNT["TELEGRAM_BOT_SECRET"]
        return bot(api_url=f"{simulator.url}/telegram-bot", token=token, secret_token=secret)
    if vendor == "max":
        token = ACCOUNT["MAX_BOT_TOKEN"]
        secret = ACCOUNT["MAX_BOT_SECRET"]
        return max_bot(api_url=f"{simulator.url}/max-bot", token=token, secret_token=secret)
    if vendor == "gateway":
        url = f"{simulator.url}/telegram-gateway"
        return gateway(api_url=url, token=ACCOUNT["TELEGRAM_GATEWAY_TOKEN"])
    if vendor == "smsc":
        login = ACCOUNT["SMSC_LOGIN"]
        password = ACCOUNT["SMSC_PASSWORD"]
        return smsc(api_url=f"{simulator.url}/smsc", login=login, password=password)
    return twilio(
        api_url=f"{simulator.url}/twilio",
        account_sid=ACCOUNT["TWILIO_ACCOUNT_SID"],
        auth_token=ACCOUNT["TWILIO_AUTH_TOKEN"],
        sender=SERVICE if vendor == "service" else ACCOUNT["TWILIO_FROM"],
    )


HOOKS = {
    "whatsapp": "whatsapp",
    "bot": "telegram-bot",
    "gateway": "telegram-gateway",
    "max": "max-bot",
}


def checks(simulator: Simulator, vendor: str) -> list[Check]:
    hook = f"{simulator.public_url}/hooks/{HOOKS.get(vendor, vendor)}"
    return account(simulator, vendor).checks(AccountRequirements(hook, ("RU", "KZ")))


def failed(simulator: Simulator, vendor: str) -> list[tuple[str, str]]:
    return [(check.topic, check.detail) for check in checks(simulator, vendor) if check.ok is False]


TOPICS = {
    "whatsapp": [
        "account",
        "number_registered",
        "number_verified",
        "number_quality",
        "display_name",
        "app_secret",
        "verify_token",
        "subscribed_app",
        *["template"] * 6,
        "webhook_address",
        "webhook_fields",
    ],
    "bot": ["account", "secret", "webhook_address", "webhook_fields", "webhook_calls"],
    "max": ["account", "secret", "webhook_address", "webhook_fields"],
    "gateway": ["account", "balance"],
    "twilio": ["account", "trial", "balance", "sender", "countries"],
    "service": ["account", "trial", "balance", "service", "countries"],
    "smsc": ["account", "balance", "sender", "callback_secret"],
}


@pytest.mark.parametrize("vendor", list(TOPICS))
def test_complete_account_lacks_nothing(simulator: Simulator, vendor: str) -> None:
    result = checks(simulator, vendor)

    assert [check.topic for check in result] == TOPICS[vendor]
    assert [check for check in result if check.ok is False] == []
    unknown = [check.topic for check in result if check.ok is None]
    assert unknown == (["balance"] if vendor == "gateway" else [])


FIELDS = (
    "account_update, account_alerts, account_review_update, phone_number_quality_update, "
    "message_template_status_update, message_template_quality_update, template_category_update"
)


@pytest.mark.parametrize(
    ("vendor", "word", "topic", "detail"),
    [
        ("whatsapp", "registration", "number_registered", "PENDING NOT_APPLICABLE"),
        ("whatsapp", "verification", "number_verified", "UNVERIFIED"),
        ("whatsapp", "quality", "number_quality", "RED"),
        ("whatsapp", "display_name", "display_name", "DECLINED"),
        ("whatsapp", "subscription", "subscribed_app", ""),
        ("whatsapp", "webhook_fields", "webhook_fields", FIELDS),
        ("bot", "webhook", "webhook_address", ""),
        ("max", "webhook", "webhook_address", ""),
        ("twilio", "trial", "trial", "Trial"),
        ("twilio", "money", "balance", "-0.05 USD"),
        ("twilio", "sender", "sender", "+15005550006"),
        ("twilio", "country", "countries", "RU"),
        ("service", "sender", "service", ""),
        ("smsc", "money", "balance", "0.00 RUR"),
        ("smsc", "sender", "sender", "KVITOK"),
    ],
)
def test_each_lack_is_named(
    simulator: Simulator, vendor: str, word: str, topic: str, detail: str
) -> None:
    assert lack(simulator, word).status_code == 200

    assert failed(simulator, vendor) == [(topic, detail)]


def read(simulator: Simulator, vendor: str, *lacks: str) -> list[Approval]:
    lack(simulator, *lacks)
    approvals = account(simulator, vendor).approvals()
    assert approvals is not None
    return approvals


@pytest.mark.parametrize("vendor", ["whatsapp", "smsc", "service"])
def test_whole_account_has_everything_it_uses_approved(simulator: Simulator, vendor: str) -> None:
    used = [approval for approval in read(simulator, vendor) if approval.is_used]

    assert used
    assert {approval.status for approval in used} == {ApprovalStatus.APPROVED}


def test_templates_are_rejected_and_paused_with_reason_and_quality(simulator: Simulator) -> None:
    result = read(simulator, "whatsapp", "template_rejected", "template_paused")

    (rejected,) = [approval for approval in result if approval.status is ApprovalStatus.REJECTED]
    (paused,) = [approval for approval in result if approval.status is ApprovalStatus.PAUSED]
    assert (rejected.kind, rejected.reason) == (ApprovalKind.TEMPLATE, "INVALID_FORMAT")
    assert (paused.vendor_status, paused.quality) == ("PAUSED", "RED")
