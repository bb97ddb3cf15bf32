"""Which rules hold for a send, and what they do to its channels."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.keys.principal import PolicyRule
from accounts.models import Company
from catalogue.channels import BY_NAME
from channels.models import Message
from channels.routing.company_policy import merged
from tests.api.clients import Api

PHONE = "+79161234567"
KAZAKH = "+77012345678"
URL = "https://example.com/"
names = st.sampled_from(list(BY_NAME))
rules = st.builds(
    PolicyRule,
    channels=st.none() | st.lists(names, min_size=1, unique=True).map(tuple),
    patience=st.dictionaries(names, st.integers(10, 600)),
    max_cost=st.none() | st.integers(1, 100),
    barred=st.none() | st.frozensets(names),
    locale=st.sampled_from(["", "ru", "en"]),
)


def rule(**given: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {
        "channels": None,
        "patience": {},
        "max_cost": None,
        "barred": None,
        "locale": "",
    }
    return {"country": "", "purpose": "", **empty, **given}


def use(*rules: dict[str, Any], **settings: Any) -> None:
    Company.objects.update(policy=list(rules), all_countries=True, **settings)


def channels_of(api: Api, path: str = "/otp/send", **payload: Any) -> list[str]:
    response = api.post(path, {"phone": PHONE, "url": URL, **payload})
    assert response.status == 200, response.body
    message = Message.objects.latest("created_at")
    return [message.channel, *(step["channel"] for step in message.chain)]


@pytest.mark.parametrize(
    ("payload", "channels"),
    [
        ({"purpose": "login"}, ["telegram", "sms"]),  # country and purpose
        ({}, ["sms"]),  # country
        ({"phone": KAZAKH, "purpose": "login"}, ["whatsapp", "sms"]),  # purpose
        ({"phone": KAZAKH}, ["telegram"]),  # all
    ],
)
def test_most_exact_rule_counts(api: Api, payload: dict[str, Any], channels: list[str]) -> None:
    use(
        rule(channels=["telegram"]),
        rule(purpose="login", channels=["whatsapp", "sms"]),
        rule(country="RU", channels=["sms"]),
        rule(country="RU", purpose="login", channels=["telegram", "sms"]),
    )

    assert channels_of(api, **payload) == channels


def test_value_missing_in_a_rule_comes_from_the_next_one(api: Api) -> None:
    use(
        rule(country="RU", channels=["telegram", "sms"], patience={"telegram": 20}),
        rule(country="RU", purpose="login", patience={"telegram": 40}),
        rule(locale="en"),
    )

    assert channels_of(api, purpose="login") == ["telegram", "sms"]

    message = Message.objects.get()
    assert message.locale == "en"
    patience = message.fallback_at - message.created_at  # type: ignore[operator]
    assert round(patience.total_seconds()) == 40


def test_rule_for_links_has_no_purpose(api: Api) -> None:
    use(rule(purpose="verification", channels=["sms"]), rule(country="RU", channels=["telegram"]))

    assert channels_of(api, "/links/send") == ["telegram"]


@pytest.mark.parametrize("named", ["whatsapp", "sms"])
def test_named_channel_is_obeyed(api: Api, named: str) -> None:
    use(rule(country="RU", channels=["telegram"]))

    assert channels_of(api, channel=named) == [named]


def test_barred_channel_is_refused_even_by_name(api: Api) -> None:
    use(rule(country="RU", barred=["whatsapp", "telegram"]))

    response = api.post("/otp/send", {"phone": PHONE, "channel": "telegram"})

    assert response.status == 422
    assert response.code == "channel_unavailable"
    assert "RU" in response.body["message"]
    assert not Message.objects.exists()
    assert channels_of(api) == ["sms"]
    assert channels_of(api, phone=KAZAKH, channel="telegram") == ["telegram"]


def test_barred_channel_leaves_the_chain_of_the_company(api: Api) -> None:
    chain = ["telegram", "whatsapp", "sms"]
    use(
        rule(country="RU", barred=["whatsapp"]),
        default_channel="telegram",
        falls_back=True,
        fallback_chain=chain,
    )

    assert channels_of(api) == ["telegram", "sms"]


def test_cost_skips_channels_of_a_chain_and_the_first_one(api: Api) -> None:
    use(rule(channels=["sms", "telegram", "whatsapp"], max_cost=1))

    assert channels_of(api) == ["telegram", "whatsapp"]


def test_send_without_an_allowed_channel_names_the_policy(api: Api) -> None:
    use(rule(channels=["sms"], max_cost=1))

    response = api.post("/otp/send", {"phone": PHONE})

    assert (response.status, response.code) == (422, "channel_unavailable")
    assert "«Политика»" in response.body["message"]


@pytest.mark.parametrize("path", ["/otp/send", "/links/send"])
def test_rules_that_leave_no_channel_together_are_named_too(api: Api, path: str) -> None:
    use(rule(channels=["sms"]), rule(country="RU", barred=["sms"]))

    refusals = (
        api.post(path, {"phone": PHONE, "url": URL}),
        api.get("/policy/preview", {"phone": PHONE}),
    )

    assert {(response.status, response.code) for response in refusals} == {
        (422, "channel_unavailable")
    }
    assert all("«Политика»" in response.body["message"] for response in refusals)
    assert channels_of(api, path, channel="whatsapp") == ["whatsapp"]
    assert channels_of(api, path, phone=KAZAKH) == ["sms"]


def test_test_keys_follow_the_policy(test_api: Api) -> None:
    use(rule(country="RU", channels=["telegram", "sms"]))

    assert channels_of(test_api) == ["telegram", "sms"]


@given(st.lists(rules, max_size=4))
def test_merged_rule_takes_each_value_from_the_first_that_has_it(several: list[PolicyRule]) -> None:
    result = merged(several)

    for name in ("channels", "max_cost", "barred"):
        set_ones = [
            value for policy_rule in several if (value := getattr(policy_rule, name)) is not None
        ]
        assert getattr(result, name) == (set_ones[0] if set_ones else None)
    for channel in BY_NAME:
        seconds = [
            policy_rule.patience[channel]
            for policy_rule in several
            if channel in policy_rule.patience
        ]
        assert result.patience.get(channel) == (seconds[0] if seconds else None)
