"""GET /lookup/{phone}: what is known about a number before anything is sent."""

import json
from collections.abc import MutableMapping
from datetime import datetime
from typing import Any

import pytest
import structlog
from django.utils import timezone
from pytest_django import Settings

from accounts.keys import api_keys
from accounts.models import Company
from api import base_view, request_log
from api.models import ApiRequest
from billing.models import Transfer
from channels.models import BlockedPhone, Contact, Message
from channels.phone_numbers import LineType, line_type
from channels.routing import lookup
from channels.vendor_accounts import availability
from tests.api.clients import Api, ClientOf
from tests.channels.accounts import create_account
from tests.factories import CompanyFactory

MOBILE = "+79161234567"
LANDLINE = "+74951234567"
UNKNOWN = ("unknown", None)


def reach(api: Api, phone: str = MOBILE, **query: str) -> dict[str, tuple[str, str | None]]:
    response = api.get(f"/lookup/{phone}", query or None)
    assert response.status == 200, response.body
    return {
        channel["channel"]: (channel["reach"], channel["reason"])
        for channel in response.body["channels"]
    }


def set_rules(api: Api, *rules: dict[str, Any]) -> None:
    assert api.call("PUT", "/policy", json.dumps({"rules": rules}).encode()).status == 200
    api_keys.clear_cache()


@pytest.mark.parametrize("written", [MOBILE, "%2B79161234567", "8 916 123-45-67", "79161234567"])
def test_lookup_returns_normalised_number(api: Api, written: str) -> None:
    response = api.get(f"/lookup/{written}")

    assert response.status == 200
    assert {name: response.body[name] for name in ("phone", "country", "type")} == {
        "phone": MOBILE,
        "country": "RU",
        "type": "mobile",
    }


@pytest.mark.parametrize(
    ("phone", "expected"),
    [
        (MOBILE, LineType.MOBILE),
        (LANDLINE, LineType.LANDLINE),
        ("+12025550123", LineType.FIXED_OR_MOBILE),
        ("+78001234567", LineType.TOLL_FREE),
        ("+447600123456", LineType.PAGER),
        ("+443001234567", LineType.UAN),
        ("+447700900123", LineType.UNKNOWN),
    ],
)
def test_type_is_of_the_numbers_range(phone: str, expected: LineType) -> None:
    assert line_type(phone) is expected


def test_nothing_is_sent_charged_or_kept(api: Api) -> None:
    before = api.get("/balance").body

    reach(api)

    assert api.get("/balance").body == before
    assert not Message.objects.exists()
    assert not Transfer.objects.exclude(kind="grant").exists()


def test_reach_of_a_new_number_is_unknown(api: Api) -> None:
    known = reach(api)

    assert (known["whatsapp"], known["telegram"], known["sms"]) == (UNKNOWN, UNKNOWN, UNKNOWN)


def test_landline_has_no_sms(api: Api) -> None:
    known = reach(api, LANDLINE)

    assert known["sms"] == known["telegram"] == ("no", "landline")
    assert known["whatsapp"] == UNKNOWN


@pytest.mark.parametrize(
    ("mode", "blocked_at", "expected"),
    [
        ("live", None, ("yes", "contact")),
        ("live", timezone.now(), UNKNOWN),  # the Gateway may still reach them
        ("test", None, UNKNOWN),
    ],
    ids=["contact", "contact who stopped the bot", "test key"],
)
def test_contact_of_the_bot_is_reachable(
    api: Api, client_of: ClientOf, mode: str, blocked_at: datetime | None, expected: object
) -> None:
    contact = {"provider": "telegram_bot", "chat_id": 7, "blocked_at": blocked_at}
    Contact.objects.create(phone=MOBILE, **contact)

    assert reach(client_of(api.company, mode))["telegram"] == expected


def test_blocked_phone_gets_nothing_by_any_channel(api: Api) -> None:
    BlockedPhone.objects.create(phone=MOBILE, said_stop=True)

    assert set(reach(api).values()) == {("no", "blocked")}


def test_messages_of_another_company_reveal_nothing(api: Api, client_of: ClientOf) -> None:
    other = client_of(CompanyFactory.create(status=Company.Status.APPROVED))
    before = reach(other)

    assert api.post("/otp/send", {"phone": MOBILE}).status == 200

    assert reach(other) == before


def test_number_of_a_forbidden_country_is_unreachable(api: Api) -> None:
    assert set(reach(api, "+77011234567").values()) == {("no", "country")}


def test_policy_leaves_channels_out_by_purpose(api: Api) -> None:
    set_rules(api, {"channels": ["whatsapp"], "purpose": "login"})

    assert reach(api, purpose="login")["sms"] == ("no", "policy")
    assert reach(api)["sms"] == UNKNOWN


def test_channel_without_an_account_is_unavailable(api: Api) -> None:
    create_account("whatsapp_cloud", is_enabled=False)
    availability.refresh()

    assert reach(api)["whatsapp"] == ("no", "unavailable")


@pytest.mark.parametrize("phone", ["12", "abc", "+7916123", "+88216212345", "%00", "x" * 300, "+"])
def test_lookup_of_a_malformed_number_is_refused(api: Api, phone: str) -> None:
    response = api.get(f"/lookup/{phone}")

    assert (response.status, response.code) == (422, "invalid_phone")


def test_scripted_invalid_number_is_refused_for_test_keys(api: Api, test_api: Api) -> None:
    assert test_api.get("/lookup/+79161230001").code == "invalid_phone"
    assert api.get("/lookup/+79161230001").status == 200


@pytest.mark.usefixtures("store")
def test_lookups_are_limited_by_company_and_mode(
    api: Api, test_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup, "LIMIT", (2, 3600))

    responses = [api.get(f"/lookup/{phone}") for phone in (MOBILE, LANDLINE, MOBILE)]

    assert [response.status for response in responses] == [200, 200, 429]
    assert responses[2].code == "rate_limited"
    assert 0 < int(responses[2].headers["Retry-After"]) <= 3600
    assert reach(test_api)


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[MutableMapping[str, Any]]:
    """The log lines of the API's view, of every level."""
    captured = structlog.testing.LogCapture()
    every_level = structlog.make_filtering_bound_logger(0)
    log = structlog.wrap_logger(None, processors=[captured], wrapper_class=every_level)
    monkeypatch.setattr(base_view, "log", log)
    return captured.entries


@pytest.mark.parametrize(
    ("path", "logged"),
    [
        (f"/lookup/{MOBILE}", "/lookup/{phone}"),
        ("/lookup/8 916 123-45-67/", "/lookup/{phone}"),
        ("/lookup/12", "/lookup/{phone}"),
        (f"/lookup/{MOBILE}/carrier", "/lookup/+7916•••••67/carrier"),  # no such call
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_log_has_the_path_without_the_number(
    api: Api, lines: list[MutableMapping[str, Any]], path: str, logged: str, method: str
) -> None:
    api.call(method, path)

    assert [line["path"] for line in lines] == [f"/api/v1{logged}"]


@pytest.mark.django_db(transaction=True)
def test_log_of_requests_has_the_masked_number(api: Api, settings: Settings) -> None:
    settings.REQUEST_LOG_DAYS = 14
    reach(api)
    request_log.buffer.flush()

    row = ApiRequest.objects.get(path="/lookup/{phone}")
    assert (row.phone, row.status) == ("+7916•••••67", 200)
