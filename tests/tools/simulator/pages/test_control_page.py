"""The simulator's page of faults and calls."""

from typing import Any

import pytest
import requests

from tests.tools.simulator.peers import ACCOUNT, Receiver, Simulator, eventually, get, post
from tests.tools.simulator.sends import ALL, WITH_RECEIPTS, Vendor, send_smsc, send_twilio


def control(simulator: Simulator, query: str = "") -> str:
    response = get(f"{simulator.url}/control{query}", headers={"Accept-Language": "en"})
    assert response.status_code == 200
    return response.text


def do(simulator: Simulator, action: str, **form: str) -> requests.Response:
    url = f"{simulator.url}/control/faults{action}?lang=en"
    return post(url, data=form, allow_redirects=False)


def exchanges(simulator: Simulator, phone: str) -> list[dict[str, Any]]:
    body: list[dict[str, Any]] = get(f"{simulator.url}/exchanges?phone={phone}").json()
    return body


def test_fault_is_set_for_a_provider_and_a_phone(simulator: Simulator, phone: str) -> None:
    form = {"kind": "unreachable", "provider": "smsc", "phone": f"+{phone}", "times": "2"}

    response = do(simulator, "", **form, latency_ms="0")

    assert (response.status_code, response.headers["Location"]) == (303, "/control?lang=en")
    assert send_smsc(simulator, phone).json()["error_code"] == 8
    assert send_twilio(simulator, phone).status_code == 201
    shown = control(simulator)
    assert f"person not on the channel · SMS · SMSC · +{phone} · 0 ms · times left: 1" in shown


def test_foreign_page_may_set_nothing(simulator: Simulator) -> None:
    url = f"{simulator.url}/control/faults"

    response = post(url, data={"kind": "hang"}, headers={"Origin": "https://evil.example"})

    assert response.status_code == 403
    assert get(f"{simulator.url}/control", headers={"Host": "evil.example"}).status_code == 403


@pytest.mark.parametrize("vendor", WITH_RECEIPTS, ids=lambda vendor: vendor.name)
def test_call_and_its_receipts_are_seen_newest_first(
    simulator: Simulator, receiver: Receiver, phone: str, vendor: Vendor
) -> None:
    vendor.send(simulator, phone)
    vendor.receipts(receiver, phone, 2)
    eventually(lambda: all(exchange["outcome"] for exchange in exchanges(simulator, phone)))

    *receipts, call = exchanges(simulator, phone)

    assert [receipt["is_receipt"] for receipt in receipts] == [True, True]
    assert receipts[0]["request"].startswith(f"POST {receiver.url}/hooks/")
    assert (call["is_receipt"], call["provider"], call["phone"]) == (False, vendor.name, phone)
    assert call["outcome"] in {"200", "201"}
    assert "123456" in call["request"]
    assert call["answer"]


@pytest.mark.parametrize("vendor", ALL, ids=lambda vendor: vendor.name)
def test_no_secret_is_shown(
    simulator: Simulator, receiver: Receiver, phone: str, vendor: Vendor
) -> None:
    vendor.send(simulator, phone)
    simulator.do(phone, "unshare")
    simulator.do(phone, "share")
    receiver.wait(lambda hook: phone.encode() in hook.body)

    shown = control(simulator, f"?phone={phone}")

    secrets = ("WHATSAPP_TOKEN", "TELEGRAM_GATEWAY_TOKEN", "TELEGRAM_BOT_TOKEN", "SMSC_PASSWORD")
    more = ("TELEGRAM_BOT_SECRET", "SMSC_CALLBACK_SECRET", "MAX_BOT_TOKEN", "MAX_BOT_SECRET")
    for name in (*secrets, *more):
        assert ACCOUNT[name] not in shown
    assert "Authorization" not in shown
    assert shown.count('<details class="exchange"') >= 2
