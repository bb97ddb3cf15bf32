"""Send a code and verify it by the client that openapi-python-client generates from the schema."""

import os
import sys

from kvitok_client import AuthenticatedClient
from kvitok_client.api.links import get_link, list_links, shorten_link
from kvitok_client.api.messages import list_test_messages
from kvitok_client.api.otp import send_code, verify_code
from kvitok_client.models import (
    Error,
    Link,
    LinkResponse,
    ListLinksResponse,
    ListTestMessagesResponse,
    NewLink,
    SendCodeRequest,
    SendCodeResponse,
    SendStatus,
    ShortenLinkResponse,
    VerificationResponse,
    VerifyCodeRequest,
)
from kvitok_client.types import Unset

PHONE = os.environ["PHONE"]
client = AuthenticatedClient(os.environ["KVITOK_URL"], os.environ["KVITOK_KEY"])


def code_on_the_phone() -> str:
    messages = list_test_messages.sync(client=client, phone=PHONE)
    assert isinstance(messages, ListTestMessagesResponse)
    code = messages.data[0].code
    assert code is not None
    return code


def verify(code: str) -> VerificationResponse | Error | None:
    return verify_code.sync(client=client, body=VerifyCodeRequest(phone=PHONE, code=code))


refused = send_code.sync(client=client, body=SendCodeRequest(phone="12"))
assert isinstance(refused, Error)
assert refused.code in {"invalid_phone", "invalid_input"}
assert refused.request_id.startswith("req_")

sent = send_code.sync(client=client, body=SendCodeRequest(phone=PHONE), idempotency_key=PHONE)
assert isinstance(sent, SendCodeResponse)
assert sent.status in {SendStatus.SENT, SendStatus.DELIVERED}

code = code_on_the_phone()
wrong = verify(f"{(int(code) + 1) % 10 ** len(code):0{len(code)}}")
assert isinstance(wrong, Error)
assert wrong.code == "code_invalid"
assert not isinstance(wrong.attempts_left, Unset)
verified = verify(code)
assert isinstance(verified, VerificationResponse)

made = shorten_link.sync(client=client, body=NewLink(url="https://shop.example/orders/1024"))
assert isinstance(made, ShortenLinkResponse)
link = get_link.sync(made.id, client=client)
assert isinstance(link, LinkResponse)
links = list_links.sync(client=client)
assert isinstance(links, ListLinksResponse)
assert isinstance(links.data[0], Link)

summary = f"{wrong.attempts_left} left, verified in {verified.verified_at:%Y}, {link.state.value}"
sys.stdout.write(summary)
