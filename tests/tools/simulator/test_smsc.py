"""The simulated SMSC."""

import hashlib
from typing import Any

import pytest
import requests

from tests.tools.simulator.peers import ACCOUNT, Receiver, Simulator, eventually, post
from tests.tools.simulator.sends import SMSC, send_smsc, smsc_form, smsc_url


def poll(simulator: Simulator, phone: str, number: int) -> dict[str, Any]:
    form = smsc_form(phone=phone, id=str(number))
    status: dict[str, Any] = post(smsc_url(simulator, "status"), data=form).json()
    return status


def error(response: requests.Response) -> int:
    received = response.json()
    assert response.status_code == 200
    assert received["error"]
    code: int = received["error_code"]
    return code


def test_id_of_the_client_is_returned_and_pollable(simulator: Simulator, phone: str) -> None:
    response = send_smsc(simulator, phone, id="1001", mes="Код 4821 https://kv.example/aB3")

    assert response.json() == {"id": 1001, "cnt": 1}
    eventually(lambda: poll(simulator, phone, 1001)["status"] == 1)
    (message,) = simulator.messages(phone)
    assert (message["code"], message["links"]) == ("4821", ["https://kv.example/aB3"])
    assert (message["channel"], message["provider"]) == ("sms", "smsc")


def test_reports_are_signed(simulator: Simulator, receiver: Receiver, phone: str) -> None:
    send_smsc(simulator, phone, id="1001")

    received = SMSC.receipts(receiver, phone, 2)

    assert [receipt.vendor_status for receipt in received] == ["sent", "delivered"]
    for form in (receipt.hook.form for receipt in received):
        signed = f"1001:{phone}:{form['status']}:{ACCOUNT['SMSC_CALLBACK_SECRET']}"
        assert form["md5"] == hashlib.md5(signed.encode(), usedforsecurity=False).hexdigest()


def test_sixth_poll_of_a_minute_is_refused(simulator: Simulator, phone: str) -> None:
    send_smsc(simulator, phone, id="1001")

    polls = [poll(simulator, phone, 1001).get("error_code") for _ in range(6)]

    assert polls == [None] * 5 + [9]
    assert poll(simulator, phone, 1002)["error_code"] == 3


def test_same_text_to_the_same_phone_is_refused_for_a_minute(
    simulator: Simulator, phone: str
) -> None:
    first = send_smsc(simulator, phone, mes="Код 4821")

    again = send_smsc(simulator, phone, mes="Код 4821")

    assert first.json()["cnt"] == 1
    assert error(again) == 9
    assert len(simulator.messages(phone)) == 1


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"phones": "12"}, 7),
        ({"phones": "07701000000"}, 7),
        ({"mes": ""}, 1),
        ({"mes": "x" * 1001}, 1),
        ({"id": "0"}, 1),
        ({"id": "2147483648"}, 1),
        ({"id": "one"}, 1),
        ({"valid": "25:00"}, 1),
        ({"charset": "koi8-r"}, 1),
        ({"fmt": "1"}, 1),
        ({"psw": "wrong"}, 2),
        ({"login": None}, 2),
        ({"login": None, "psw": None, "apikey": "wrong"}, 2),
    ],
)
def test_bad_send_is_refused_inside_a_200(
    simulator: Simulator, phone: str, changed: dict[str, Any], code: int
) -> None:
    assert error(send_smsc(simulator, phone, **changed)) == code
    assert simulator.messages(phone) == []
