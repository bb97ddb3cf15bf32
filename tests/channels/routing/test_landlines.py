"""A landline gets no message that only mobiles can receive."""

from typing import Any

import pytest

from accounts.models import Company
from billing.wallet import ledger
from channels.models import Message
from channels.providers import scripted
from channels.routing import scripted_numbers
from tests.api.clients import Api, ClientOf
from tests.factories import CompanyFactory

LANDLINE = "+74951234567"
MOBILE = "+79161234567"
CALLS: dict[str, dict[str, Any]] = {
    "/otp/send": {},
    "/links/send": {"url": "https://shop.example/orders/1024"},
}
RU = "Это городской телефон"
EN = "use a mobile number"


@pytest.fixture
def api(client_of: ClientOf) -> Api:
    """A client of a company that sends abroad."""
    company = CompanyFactory.create(all_countries=True)
    ledger.grant(company=company, amount=1000, reason="test")
    return client_of(company)


@pytest.mark.parametrize("path", CALLS)
@pytest.mark.parametrize("phone", [LANDLINE, "+49301234567", "+390612345678", "+551132654321"])
def test_sms_to_a_landline_is_refused_before_anything_is_held(
    api: Api, path: str, phone: str
) -> None:
    before = api.get("/balance").body

    russian = api.post(path, CALLS[path] | {"phone": phone, "channel": "sms"})
    english = api.post(
        path, CALLS[path] | {"phone": phone, "channel": "sms"}, **{"Accept-Language": "en"}
    )

    assert [russian.status, english.status] == [422, 422]
    assert [russian.code, english.code] == ["recipient_unreachable"] * 2
    assert RU in russian.body["message"]
    assert "мобильный номер" in russian.body["message"]
    assert EN in english.body["message"]
    assert not Message.objects.exists()
    assert api.get("/balance").body == before


def test_code_by_telegram_gateway_to_a_landline_is_refused(api: Api) -> None:
    response = api.post("/otp/send", {"phone": LANDLINE, "channel": "telegram"})

    assert (response.status, response.code) == (422, "recipient_unreachable")


def test_whatsapp_may_live_on_a_landline(api: Api) -> None:
    assert api.post("/otp/send", {"phone": LANDLINE, "channel": "whatsapp"}).status == 200


def test_steps_that_reach_no_landline_are_left_out(api: Api) -> None:
    chain = ["sms", "whatsapp", "telegram"]
    Company.objects.update(default_channel="sms", fallback_chain=chain, falls_back=True)

    landline = api.post("/otp/send", {"phone": LANDLINE})
    mobile = api.post("/otp/send", {"phone": MOBILE})

    assert (landline.body["channel"], mobile.body["channel"]) == ("whatsapp", "sms")
    chains = {
        message.phone: [step["channel"] for step in message.chain]
        for message in Message.objects.all()
    }
    assert chains == {LANDLINE: [], MOBILE: ["whatsapp", "telegram"]}


@pytest.mark.parametrize("phone", ["+12025550123", "+525512345678", "+541143211234", MOBILE])
def test_number_that_may_be_a_mobile_is_sent_to(api: Api, phone: str) -> None:
    assert api.post("/otp/send", {"phone": phone, "channel": "sms"}).status == 200


@pytest.mark.parametrize("script", scripted_numbers.OUTCOMES)
def test_test_number_falls_back_only_to_landline_channels(client_of: ClientOf, script: str) -> None:
    api = client_of(CompanyFactory.create(all_countries=True), mode="test")

    landline = api.post("/otp/send", {"phone": LANDLINE[:-4] + script})
    mobile = api.post("/otp/send", {"phone": MOBILE[:-4] + script})

    chains = {
        message.phone[:5]: [step["channel"] for step in message.chain]
        for message in Message.objects.all()
    }
    assert chains.get(LANDLINE[:5], []) == []
    assert (chains.get(MOBILE[:5], []) != []) is (script == scripted.FALLS_BACK)
    is_unlike = script == scripted.FALLS_BACK  # nothing else reaches a landline
    codes = [response.body.get("code") for response in (landline, mobile)]
    assert is_unlike or codes[0] == codes[1]


def test_scripted_endings_are_unique() -> None:
    scripts = [
        *scripted_numbers.REFUSED_AT_ONCE,
        *(scripted.UNREACHABLE, scripted.LATE, scripted.NEVER, scripted.REFUSED),
        *(scripted.FALLS_BACK, scripted_numbers.QUEUED, scripted_numbers.EXPIRED_CODE),
        *(scripted_numbers.CHALLENGED, scripted_numbers.HELD_BACK),
    ]

    assert sorted(scripts) == sorted(scripted_numbers.OUTCOMES.keys() - {"0000"})
    assert {len(script) for script in scripts} == {4}
