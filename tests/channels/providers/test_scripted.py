from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from catalogue.channels import BY_NAME
from channels.providers.base import Content, RefusedError, UnreachableError
from channels.providers.inbound import InvalidSignatureError, ReceiptState, WebhookRequest
from channels.providers.scripted import ScriptedProvider
from tests.channels.providers.vendors import message

NOW = datetime(2026, 9, 1, 12, tzinfo=UTC)


def scripted(last4: str, channel: str = "sms") -> str:
    accepted = ScriptedProvider(channel).send(message(phone=f"+7999123{last4}"))
    assert accepted.provider_id is not None
    return accepted.provider_id


@pytest.mark.parametrize("channel", BY_NAME)
def test_supports_every_channel_and_content(channel: str) -> None:
    provider = ScriptedProvider(channel)

    assert provider.channel == channel
    assert provider.capabilities.contents == frozenset(Content)
    assert provider.send(message(phone="+79991234567")).provider_id


@pytest.mark.parametrize("channel", BY_NAME)
def test_0003_is_unreachable_and_0008_refused_everywhere(channel: str) -> None:
    with pytest.raises(UnreachableError):
        scripted("0003", channel)
    with pytest.raises(RefusedError):
        scripted("0008", channel)


@pytest.mark.parametrize("channel", BY_NAME)
def test_0009_is_reached_at_the_second_attempt(channel: str) -> None:
    with pytest.raises(UnreachableError, match="test_fallback"):
        scripted("0009", channel)

    second = message(phone="+79991230009", n=2)
    assert ScriptedProvider(channel).send(second).provider_id
    assert ScriptedProvider(channel).is_proved_by(second)


def test_0006_is_delivered_after_half_a_minute() -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        provider_id = scripted("0006")
        clock.shift(29)
        early = ScriptedProvider("sms").poll(provider_id)
        clock.shift(1)
        late = ScriptedProvider("sms").poll(provider_id)

    assert early is None
    assert late is not None
    assert (late.state, late.ref) == (ReceiptState.DELIVERED, "att-1")
    assert late.at == NOW + timedelta(seconds=30)


def test_0007_is_never_delivered() -> None:
    with time_machine.travel(NOW, tick=False) as clock:
        provider_id = scripted("0007")
        clock.shift(timedelta(days=2))

        assert ScriptedProvider("sms").poll(provider_id) is None


def test_other_numbers_are_delivered_at_once() -> None:
    receipt = ScriptedProvider("sms").poll(scripted("4567"))

    assert receipt is not None
    assert receipt.state is ReceiptState.DELIVERED


@pytest.mark.parametrize(
    ("last4", "instant"), [("0000", True), ("0009", True), ("0006", False), ("0007", False)]
)
def test_only_the_late_and_the_lost_need_more_proof(last4: str, instant: bool) -> None:
    outgoing = message(phone=f"+7999123{last4}")

    assert ScriptedProvider("sms").is_proved_by(outgoing) is instant


def test_a_reference_may_hold_dashes() -> None:
    accepted = ScriptedProvider("sms").send(message(phone="+79991234567", ref="a-b-c"))

    receipt = ScriptedProvider("sms").poll(accepted.provider_id or "")

    assert receipt is not None
    assert receipt.ref == "a-b-c"


def test_scripted_provider_has_no_webhook() -> None:
    with pytest.raises(InvalidSignatureError):
        ScriptedProvider("sms").read(WebhookRequest("", {}, b"{}"))
