"""Send a code and verify it by the client that openapi-generator generates for Python."""

import os
import sys

from kvitok import ApiClient, Configuration
from kvitok.api.links_api import LinksApi
from kvitok.api.messages_api import MessagesApi
from kvitok.api.otp_api import OtpApi
from kvitok.exceptions import ApiException
from kvitok.models import (
    Error,
    MessageEvent,
    NewLink,
    SendCodeRequest,
    SendCodeResponse,
    SendStatus,
    VerificationResponse,
    VerifyCodeRequest,
)

PHONE = os.environ["PHONE"]
client = ApiClient(
    Configuration(host=os.environ["KVITOK_URL"], access_token=os.environ["KVITOK_KEY"])
)
codes = OtpApi(client)
messages = MessagesApi(client)
links = LinksApi(client)


def error_of(refused: ApiException) -> Error:
    assert isinstance(refused.data, Error)
    return refused.data


def send(phone: str) -> SendCodeResponse | Error:
    try:
        return codes.send_code(SendCodeRequest(phone=phone), idempotency_key=phone)
    except ApiException as refused:
        return error_of(refused)


def verify(code: str) -> VerificationResponse | Error:
    try:
        return codes.verify_code(VerifyCodeRequest(phone=PHONE, code=code))
    except ApiException as refused:
        return error_of(refused)


refusal = send("12")
assert isinstance(refusal, Error)
assert refusal.code in {"invalid_phone", "invalid_input"}
assert refusal.request_id.startswith("req_")
assert refusal.success is False

sent = send(PHONE)
assert isinstance(sent, SendCodeResponse)
assert sent.status in {SendStatus.SENT, SendStatus.DELIVERED}

code = messages.list_test_messages(phone=PHONE).data[0].code
assert code is not None
wrong = verify(f"{(int(code) + 1) % 10 ** len(code):0{len(code)}}")
assert isinstance(wrong, Error)
assert wrong.code == "code_invalid"
verified = verify(code)
assert isinstance(verified, VerificationResponse)

made = links.shorten_link(NewLink(url="https://shop.example/orders/1024"))
link = links.get_link(made.id)
assert [made.id] == [one.id for one in links.list_links(slug=made.slug).data]
assert "data" in MessageEvent.model_fields

summary = f"{wrong.attempts_left} left, verified in {verified.verified_at:%Y}, {link.state.value}"
sys.stdout.write(summary)
