"""Responses to senders while accounts are off or their breakers are open."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from catalogue.channels import BY_NAME
from channels.models import Message, ProviderAccount
from channels.providers.base import Content
from channels.vendor_accounts import availability, pauses, stored_credentials
from tests.api.clients import Api
from tests.channels.accounts import KZ, create_account, name_accounts, open_breaker
from tests.factories import UserFactory
from tests.stack.programs import wait_until

pytestmark = pytest.mark.django_db


PHONE = "+79161234567"


def refusal(api: Api, **fields: object) -> tuple[int, str | None, str]:
    response = api.post("/otp/send", {"phone": PHONE} | fields)
    return (
        response.status,
        response.code if response.status != 200 else None,
        response.body.get("channel", ""),
    )


@pytest.mark.parametrize("how", ["open", "disabled"])
def test_named_channel_without_an_account_is_unavailable(api: Api, how: str) -> None:
    if how == "open":
        open_breaker("whatsapp_cloud")
    else:
        create_account("whatsapp_cloud", is_enabled=False)
    availability.refresh()

    assert refusal(api, channel="whatsapp")[:2] == (422, "channel_unavailable")
    assert refusal(api) == (200, None, "telegram")
    assert Message.objects.count() == 1


def test_another_account_is_enough(api: Api, settings: Settings) -> None:
    name_accounts(settings, "kz")
    open_breaker("twilio")
    availability.refresh()
    assert refusal(api, channel="sms") == (200, None, "sms")

    create_account(KZ, is_enabled=False)
    availability.refresh()
    assert not availability.has_account(BY_NAME["sms"], Content.CODE, "live")


@pytest.mark.parametrize("left", [timedelta(seconds=5), timedelta(seconds=-5)])
def test_pause_that_is_nearly_over_is_waited_out(api: Api, left: timedelta) -> None:
    open_breaker("twilio", left=left)
    availability.refresh()

    assert refusal(api, channel="sms") == (200, None, "sms")


def test_phone_without_an_account_is_refused_at_once(api: Api) -> None:
    create_account("twilio", prefixes=["+7701", "+998"])
    availability.refresh()

    assert refusal(api, channel="sms")[:2] == (422, "channel_unavailable")
    assert availability.has_account(BY_NAME["sms"], Content.CODE, "live")
    assert availability.has_account(BY_NAME["sms"], Content.CODE, "live", "+998901234567")


def test_open_breaker_leaves_test_keys_available(test_api: Api) -> None:
    open_breaker("whatsapp_cloud")
    availability.refresh()

    assert refusal(test_api, channel="whatsapp") == (200, None, "whatsapp")


def test_channels_say_whether_they_are_available(api: Api) -> None:
    open_breaker("twilio")
    availability.refresh()

    channels = {row["channel"]: row for row in api.get("/channels").body["data"]}

    assert {name: channel["available"] for name, channel in channels.items()} == {
        "whatsapp": True,
        "telegram": True,
        "sms": False,
        "max": True,
    }
    assert channels["sms"]["capabilities"] == [*Content]


def test_request_reads_no_provider_accounts(api: Api) -> None:
    ProviderAccount.objects.create(name="twilio")

    with CaptureQueriesContext(connection) as queries:
        api.post("/otp/send", {"phone": PHONE, "channel": "sms"})

    assert not [query for query in queries.captured_queries if "provideraccount" in query["sql"]]


def limits() -> dict[str, int | None]:
    return dict(ProviderAccount.objects.values_list("name", "max_per_second"))


@pytest.mark.django_db(transaction=True)
def test_worker_stores_the_rate_limits_of_vendors(
    settings: Settings, request: pytest.FixtureRequest
) -> None:
    settings.SIMULATOR_URL = ""

    request.getfixturevalue("dispatcher")

    wait_until(lambda: limits() == {"max_bot": 30})


def test_limit_that_the_operator_set_stays(settings: Settings) -> None:
    settings.SIMULATOR_URL = ""
    ProviderAccount.objects.create(name="max_bot", position=7, max_per_second=10)

    pauses.ensure_limits()
    pauses.ensure_rows()

    assert limits()["max_bot"] == 10
    assert limits()["twilio"] is None


def test_simulator_has_no_limit() -> None:
    pauses.ensure_limits()

    assert limits() == {}


def test_account_that_an_operator_connects_is_bounded() -> None:
    user = UserFactory.create()
    values = {"token": "t", "username": "b", "secret_token": "s"}

    stored_credentials.save(name="max_bot", values=values, user=user, ip="")

    assert limits() == {"max_bot": 30}
