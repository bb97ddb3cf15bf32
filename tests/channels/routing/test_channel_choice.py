"""The channel of a message, and the reasons for refusing it."""

import pytest
from pytest_django import Settings

from accounts.models import Company
from catalogue.channels import BY_NAME, CHANNELS
from catalogue.errors import DomainError, Error
from channels.models import BlockedPhone, Message
from channels.providers.base import Content
from channels.routing import channel_plan, company_policy
from channels.vendor_accounts import registry
from tests.api.clients import Api
from tests.channels.accounts import set_account

PHONE = "+79161234567"
URL = "https://example.com/"
OFF = {
    "whatsapp": ("whatsapp_cloud", "token"),
    "telegram_gateway": ("telegram_gateway", "token"),
    "telegram_bot": ("telegram_bot", "token"),
    "sms": ("twilio", "auth_token"),
    "max": ("max_bot", "token"),
}


def turn_off(settings: Settings, *names: str) -> None:
    for name in names:
        account, option = OFF[name]
        set_account(settings, account, {option: ""})


def code_only(settings: Settings) -> None:
    """WhatsApp without a template for codes with links, as a new account has it."""
    set_account(settings, "whatsapp_cloud", {"code_link_template": ""})


def chosen(default: str = "", content: Content = Content.CODE, named: str | None = None) -> str:
    return str(
        channel_plan.choose_channel(
            channel_name=named,
            order=company_policy.channel_order(default),
            content=content,
            mode="live",
        ).name
    )


@pytest.mark.parametrize(
    ("default", "order"),
    [("", list(BY_NAME)), *((name, list(dict.fromkeys([name, *BY_NAME]))) for name in BY_NAME)],
)
def test_default_channel_comes_first_in_the_order(default: str, order: list[str]) -> None:
    assert [channel.name for channel in company_policy.channel_order(default)] == order
    available = [name for name in order if registry.carries(BY_NAME[name], Content.CODE, "live")]
    assert chosen(default) == available[0]


@pytest.mark.parametrize(
    ("off", "channel"),
    [
        ([], "whatsapp"),
        (["whatsapp"], "telegram"),
        (["whatsapp", "telegram_gateway"], "telegram"),
        (["whatsapp", "telegram_gateway", "telegram_bot"], "sms"),
        (["whatsapp", "telegram_gateway", "telegram_bot", "sms"], "max"),
    ],
)
def test_first_configured_channel_is_chosen(
    settings: Settings, off: list[str], channel: str
) -> None:
    turn_off(settings, *off)

    assert chosen() == channel


@pytest.mark.parametrize("content", Content)
def test_no_configured_channel_is_refused(settings: Settings, content: Content) -> None:
    turn_off(settings, *OFF)

    with pytest.raises(DomainError) as refused:
        chosen(content=content)

    assert refused.value.error is Error.CHANNEL_UNAVAILABLE


def test_default_that_cannot_carry_a_link_is_skipped(settings: Settings) -> None:
    code_only(settings)

    assert chosen("whatsapp", Content.CODE) == "whatsapp"
    assert chosen("whatsapp", Content.CODE_WITH_LINK) == "telegram"
    assert chosen("whatsapp", Content.LINK) == "whatsapp"


def test_named_channel_is_never_replaced(settings: Settings) -> None:
    code_only(settings)
    turn_off(settings, "sms")

    for channel, content, error in (
        ("whatsapp", Content.CODE_WITH_LINK, Error.LINK_NOT_SUPPORTED),
        ("sms", Content.CODE_WITH_LINK, Error.CHANNEL_UNAVAILABLE),
        ("sms", Content.LINK, Error.CHANNEL_UNAVAILABLE),
        ("sms", Content.CODE, Error.CHANNEL_UNAVAILABLE),
    ):
        with pytest.raises(DomainError) as refused:
            chosen(content=content, named=channel)
        assert refused.value.error is error


def test_telegram_without_its_bot_carries_codes_only(settings: Settings) -> None:
    turn_off(settings, "telegram_bot")

    assert chosen("telegram") == "telegram"
    with pytest.raises(DomainError) as refused:
        chosen(content=Content.LINK, named="telegram")
    assert refused.value.error is Error.LINK_NOT_SUPPORTED


def test_test_keys_have_every_channel_whatever_is_configured(
    test_api: Api, settings: Settings
) -> None:
    turn_off(settings, *OFF)

    for channel in CHANNELS:
        link = {"link": URL} if Content.CODE_WITH_LINK in channel.contents else {}
        response = test_api.post("/otp/send", {"phone": PHONE, "channel": channel.name, **link})
        assert (response.status, response.body["channel"]) == (200, channel.name)


@pytest.mark.parametrize("named", [None, "sms"])
def test_send_uses_the_reported_channel(api: Api, named: str | None) -> None:
    Company.objects.update(default_channel="telegram")

    response = api.post("/otp/send", {"phone": PHONE, "channel": named})

    assert response.body["channel"] == Message.objects.get().channel == (named or "telegram")


def test_channels_are_listed_with_price_and_capabilities(api: Api, settings: Settings) -> None:
    code_only(settings)
    turn_off(settings, "telegram_bot", "sms")

    body = api.get("/channels").body

    names = ("channel", "name", "price", "available", "capabilities")
    assert body.pop("data")[:3] == [
        dict(zip(names, row, strict=True))
        for row in (
            ("whatsapp", "WhatsApp", 1, True, ["code", "link", "custom_digits", "custom_code"]),
            ("telegram", "Telegram", 1, True, ["code", "custom_digits"]),
            ("sms", "SMS", 16, False, []),
        )
    ]
    assert body == {"success": True, "message": "Каналы"}


@pytest.mark.parametrize(
    ("allowed", "phone", "status"),
    [
        ([], "+12025550123", 422),
        ([], PHONE, 200),
        (["RU"], PHONE, 200),
        (["RU"], "+77012345678", 422),
        (["KZ", "RU"], "+77012345678", 200),
        (["RU"], "+12025550123", 422),
    ],
)
@pytest.mark.parametrize("path", ["/otp/send", "/links/send"])
def test_country_outside_the_allowed_ones_is_refused(
    api: Api, path: str, allowed: list[str], phone: str, status: int
) -> None:
    Company.objects.update(allowed_countries=allowed)

    response = api.post(path, {"phone": phone, "url": URL})

    assert response.status == status
    assert status == 200 or response.code == "country_not_allowed"


@pytest.mark.parametrize("path", ["/otp/send", "/links/send"])
def test_every_country_is_a_choice_of_the_company(api: Api, path: str) -> None:
    Company.objects.update(all_countries=True, allowed_countries=["RU"])

    assert api.post(path, {"phone": "+252612345678", "url": URL}).status == 200


def test_own_country_is_where_the_company_is(api: Api) -> None:
    Company.objects.update(country="KZ")

    response = api.post("/otp/send", {"phone": PHONE})

    assert (response.code, response.body["country"]) == ("country_not_allowed", "RU")
    assert "«Настройки» → «Разрешённые страны»" in response.body["message"]
    assert api.post("/otp/send", {"phone": "+77012345678"}).status == 200


def test_consecutive_numbers_of_unused_country_are_refused_at_once(api: Api) -> None:
    """The usual abuse of a stolen key."""
    numbers = [f"+25261{n:07d}" for n in range(2345600, 2345800)]

    responses = [api.post("/otp/send", {"phone": number, "channel": "sms"}) for number in numbers]

    assert {response.body.get("code") for response in responses} == {"country_not_allowed"}
    assert not Message.objects.exists()


def test_blocked_phone_gets_no_message(api: Api, test_api: Api) -> None:
    BlockedPhone.objects.create(phone=PHONE, reason="STOP")

    for client in (api, test_api):
        for path in ("/otp/send", "/links/send"):
            response = client.post(path, {"phone": "8 916 123-45-67", "url": URL})
            assert (response.status, response.code) == (422, "recipient_unreachable")
    BlockedPhone.objects.all().delete()
    assert api.post("/otp/send", {"phone": PHONE}).status == 200
