"""The simulated Twilio, as the vendor's own client uses it."""

from collections.abc import Iterator
from typing import Any

import pytest
import requests
from twilio.http.http_client import TwilioHttpClient
from twilio.http.response import Response
from twilio.rest import Client

from tests.tools.simulator.peers import ACCOUNT, Receiver, Simulator
from tests.tools.simulator.sends import BASIC, TWILIO, send_twilio, twilio_agrees


class LedHere(TwilioHttpClient):
    """The vendor's own client with its host exchanged for ours."""

    def __init__(self, url: str) -> None:
        super().__init__(timeout=5)
        self._url = url

    def request(  # type: ignore[override]
        self, method: str, url: str, *args: Any, **kwargs: Any
    ) -> Response:
        here = url.replace("https://api.twilio.com", f"{self._url}/twilio")
        return super().request(method, here, *args, **kwargs)


@pytest.fixture
def twilio(simulator: Simulator) -> Iterator[Client]:
    here = LedHere(simulator.url)
    yield Client(*BASIC, http_client=here)  # type: ignore[no-untyped-call]
    assert here.session is not None
    here.session.close()


def error(response: requests.Response) -> tuple[int, int]:
    error_body = response.json()
    assert error_body["status"] == response.status_code
    assert error_body["more_info"] == f"https://www.twilio.com/docs/errors/{error_body['code']}"
    return response.status_code, error_body["code"]


def test_vendors_own_client_sends_and_polls(
    simulator: Simulator, receiver: Receiver, twilio: Client, phone: str
) -> None:
    sent = twilio.messages.create(
        to=f"+{phone}",
        from_=ACCOUNT["TWILIO_FROM"],
        body="Код 4821 https://kv.example/aB3",
        status_callback=f"{receiver.url}/hooks/twilio",
        validity_period=300,
    )
    TWILIO.receipts(receiver, phone, 2)

    polled = twilio.messages(str(sent.sid)).fetch()
    (message,) = simulator.messages(phone)
    assert [str(sent.status), sent.num_segments, sent.error_code] == ["queued", "1", None]
    assert [polled.sid, str(polled.status)] == [sent.sid, "delivered"]
    assert (message["code"], message["links"]) == ("4821", ["https://kv.example/aB3"])
    assert (message["channel"], message["provider"]) == ("sms", "twilio")


def test_callbacks_are_signed(simulator: Simulator, receiver: Receiver, phone: str) -> None:
    url = f"{receiver.url}/hooks/twilio?a=b%2Fc&d="
    sid = send_twilio(simulator, phone, StatusCallback=url).json()["sid"]

    def fits(path: str) -> bool:
        return path == "/hooks/twilio?a=b%2Fc&d="

    hooks = receiver.wait(lambda hook: fits(hook.path) and hook.form["MessageSid"] == sid, 2)

    assert [hook.form["MessageStatus"] for hook in hooks] == ["sent", "delivered"]
    for hook in hooks:
        signature = hook.headers["x-twilio-signature"]
        assert twilio_agrees(BASIC[1], url, hook.form, signature)
        assert hook.form["AccountSid"] == BASIC[0]
        assert "ErrorCode" not in hook.form


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"To": None}, (400, 21604)),
        ({"To": "12345"}, (400, 21211)),
        ({"To": "+7701"}, (400, 21211)),
        ({"Body": None}, (400, 21602)),
        ({"Body": ""}, (400, 21602)),
        ({"Body": "x" * 1601}, (400, 21617)),
        ({"From": None}, (400, 21603)),
        ({"From": "+15005550007"}, (400, 21606)),
        ({"From": None, "MessagingServiceSid": "MG1"}, (400, 21705)),
        ({"StatusCallback": "nowhere"}, (400, 21609)),
        ({"StatusCallback": "http://under_score.example/x"}, (400, 21609)),
        ({"ValidityPeriod": "0"}, (400, 21624)),
        ({"ValidityPeriod": "36001"}, (400, 21624)),
    ],
)
def test_malformed_send_is_refused(
    simulator: Simulator, phone: str, changed: dict[str, Any], expected: tuple[int, int]
) -> None:
    assert error(send_twilio(simulator, phone, **changed)) == expected
    assert simulator.messages(phone) == []
