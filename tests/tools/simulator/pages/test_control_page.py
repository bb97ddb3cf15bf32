"""The control page: forms that set faults, and the wire log."""

from typing import Any

import pytest
import requests

from tests.tools.simulator.peers import ACCOUNT, Receiver, Simulator, eventually, get, post
from tests.tools.simulator.sends import (
    ALL,
    BASIC,
    WHATSAPP,
    WITH_RECEIPTS,
    Vendor,
    bot_url,
    send_smsc,
    send_twilio,
    send_whatsapp,
    smsc_form,
    smsc_url,
    twilio_url,
)


def control(simulator: Simulator, query: str = "") -> str:
    answer = get(f"{simulator.url}/control{query}", headers={"Accept-Language": "en"})
    assert answer.status_code == 200
    return answer.text


def do(simulator: Simulator, action: str, **form: str) -> requests.Response:
    url = f"{simulator.url}/control/faults{action}?lang=en"
    return post(url, data=form, allow_redirects=False)


def exchanges(simulator: Simulator, phone: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = get(f"{simulator.url}/exchanges?phone={phone}").json()
    return found


def test_fault_is_set_for_a_provider_and_a_phone(simulator: Simulator, phone: str) -> None:
    form = {"kind": "unreachable", "provider": "smsc", "phone": f"+{phone}", "times": "2"}

    answer = do(simulator, "", **form, latency_ms="0")

    assert (answer.status_code, answer.headers["Location"]) == (303, "/control?lang=en")
    assert send_smsc(simulator, phone).json()["error_code"] == 8
    assert send_twilio(simulator, phone).status_code == 201
    shown = control(simulator)
    assert f"person not on the channel · SMS · SMSC · +{phone} · 0 ms · times left: 1" in shown


def test_faults_are_removed_one_by_one_and_all_at_once(simulator: Simulator) -> None:
    for kind in ("hang", "reset", "lost"):
        do(simulator, "", kind=kind)
    first = get(f"{simulator.url}/faults").json()[0]["id"]

    assert do(simulator, f"/{first}/remove").status_code == 303
    assert [one["kind"] for one in get(f"{simulator.url}/faults").json()] == ["reset", "lost"]
    assert do(simulator, f"/{first}/remove").status_code == 303
    assert do(simulator, "/clear").status_code == 303
    assert get(f"{simulator.url}/faults").json() == []


@pytest.mark.parametrize(
    "form", [{}, {"kind": "explode"}, {"kind": "hang", "times": "two"}, {"latency_ms": "-1"}]
)
def test_invalid_fault_is_reported_and_not_set(simulator: Simulator, form: dict[str, str]) -> None:
    answer = do(simulator, "", **form)

    assert answer.status_code == 400
    assert 'role="alert">That did not work.' in answer.text
    assert get(f"{simulator.url}/faults").json() == []


def test_foreign_page_may_set_nothing(simulator: Simulator) -> None:
    url = f"{simulator.url}/control/faults"

    answer = post(url, data={"kind": "hang"}, headers={"Origin": "https://evil.example"})

    assert answer.status_code == 403
    assert get(f"{simulator.url}/control", headers={"Host": "evil.example"}).status_code == 403


@pytest.mark.parametrize("vendor", WITH_RECEIPTS, ids=lambda vendor: vendor.name)
def test_call_and_its_receipts_are_seen_newest_first(
    simulator: Simulator, receiver: Receiver, phone: str, vendor: Vendor
) -> None:
    vendor.send(simulator, phone)
    vendor.receipts(receiver, phone, 2)
    eventually(lambda: all(one["outcome"] for one in exchanges(simulator, phone)))

    *receipts, call = exchanges(simulator, phone)

    assert [one["is_receipt"] for one in receipts] == [True, True]
    assert receipts[0]["request"].startswith(f"POST {receiver.url}/hooks/")
    assert (call["is_receipt"], call["provider"], call["phone"]) == (False, vendor.name, phone)
    assert call["outcome"] in {"200", "201"}
    assert "123456" in call["request"]
    assert call["answer"]


def test_every_provider_that_is_called_has_a_name(simulator: Simulator) -> None:
    """Payment providers too, whose calls the service makes by itself."""
    for path in (
        "/stripe/v1/checkout/sessions",
        "/yookassa/v3/payments/none",
        "/tbank/api/v1/statement",
    ):
        assert get(f"{simulator.url}{path}").status_code in {400, 401, 404, 405}

    shown = control(simulator)

    for name in ("Stripe", "YooKassa", "T-Bank"):
        assert f"<b>{name}</b>" in shown
        assert f">{name}</option>" in shown
    assert "Т-Банк" in get(f"{simulator.url}/control?lang=ru").text


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
    for name in (*secrets, "TELEGRAM_BOT_SECRET", "SMSC_CALLBACK_SECRET"):
        assert ACCOUNT[name] not in shown
    assert "Authorization" not in shown
    assert shown.count('<details class="exchange"') >= 2


def test_secret_that_is_not_ours_is_masked_too(simulator: Simulator, phone: str) -> None:
    send_smsc(simulator, phone, psw="somebody-elses")
    post(bot_url(simulator, "getMe", token="1:somebody-elses"), auth=BASIC)

    shown = control(simulator)

    assert "somebody-elses" not in shown
    assert "psw=•••" in shown
    assert "/telegram-bot/bot•••/getMe" in shown


def test_cut_connection_is_seen_as_such(simulator: Simulator, phone: str) -> None:
    simulator.set_fault(phone=phone, kind="lost")

    with pytest.raises(requests.ConnectionError):
        send_whatsapp(simulator, phone)

    assert [one["outcome"] for one in exchanges(simulator, phone)] == ["reset"]
    assert "connection reset" in control(simulator, f"?phone={phone}")


def test_call_without_an_answer_yet_is_seen(simulator: Simulator, phone: str) -> None:
    simulator.set_fault(phone=phone, kind="hang")

    with pytest.raises(requests.ReadTimeout):
        send_whatsapp(simulator, phone, timeout=0.1)

    assert exchanges(simulator, phone)[-1]["outcome"] == ""
    assert "no answer yet" in control(simulator, f"?phone={phone}")


def test_receipt_that_was_not_taken_is_seen(
    simulator: Simulator, receiver: Receiver, phone: str
) -> None:
    receiver.status = 503

    send_whatsapp(simulator, phone)
    receiver.wait(lambda hook: phone.encode() in hook.body)

    eventually(lambda: "503" in [one["outcome"] for one in exchanges(simulator, phone)])


def test_questions_are_seen_with_the_phone_they_are_about(simulator: Simulator, phone: str) -> None:
    sid = send_twilio(simulator, phone).json()["sid"]
    get(twilio_url(simulator, f"Messages/{sid}.json"), auth=BASIC)
    post(smsc_url(simulator, "status"), data=smsc_form(phone=phone, id="1"))

    asked = [one["provider"] for one in exchanges(simulator, phone) if not one["is_receipt"]]

    assert asked == ["smsc", "twilio", "twilio"]


def test_exchanges_are_narrowed_by_provider(simulator: Simulator, phone: str) -> None:
    send_whatsapp(simulator, phone)
    send_twilio(simulator, phone)

    url = f"{simulator.url}/exchanges?phone={phone}&provider=twilio"

    assert {one["provider"] for one in get(url).json()} == {"twilio"}


def test_the_record_is_bounded(simulator: Simulator, receiver: Receiver, phone: str) -> None:
    send_whatsapp(simulator, phone)
    WHATSAPP.receipts(receiver, phone, 2)
    for _ in range(300):
        requests.post(f"{simulator.url}/smsc/sys/balance.php", timeout=5)

    assert exchanges(simulator, phone) == []
    assert control(simulator).count('<details class="exchange"') == 100


def test_everything_from_outside_is_escaped(simulator: Simulator, phone: str) -> None:
    send_smsc(simulator, phone, mes="<script>alert(1)</script> 4821")

    shown = control(simulator, f'?phone={phone}&provider="><b>')

    assert "<script>alert" not in shown
    assert "&quot;&gt;&lt;b&gt;" not in control(simulator, f"?phone={phone}")
    assert '"><b>' not in shown
