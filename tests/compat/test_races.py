"""Dialects and the API share attempts and sends: of all guesses one succeeds."""

from collections import Counter
from functools import partial

import pytest

from accounts.models import Company, Mode
from channels.models import Message
from compat.dialect import dialects
from compat.infobip.dialect import infobip_id
from otp import verifications
from otp.models import Verification
from tests.api.clients import ApiResponse
from tests.api.races import at_once
from tests.compat.clients import DialectClient, client_key
from tests.compat.twilio.client import PHONE, Twilio

pytestmark = pytest.mark.django_db(transaction=True)


def test_fifty_correct_codes_through_two_apis_succeed_once(company: Company) -> None:
    twilio = Twilio(company, mode=Mode.LIVE)
    twilio.create()
    code = twilio.right()
    prelude = DialectClient(dialects()["prelude"], client_key(company, mode=Mode.LIVE).plaintext)
    target = {"type": "phone_number", "value": PHONE}
    by_prelude = partial(prelude.json, "/v2/verification/check", {"target": target, "code": code})

    responses = at_once([by_prelude, partial(twilio.check, code)] * 25)

    counter = Counter(_status_or_code(response) for response in responses)
    assert counter["approved"] + counter["success"] == 1
    assert Verification.objects.get().attempts == 1


def _status_or_code(response: ApiResponse) -> str:
    body = response.body
    return str(body["status"] if response.status < 300 else body.get("code"))


def test_many_creates_at_once_send_one_message(company: Company) -> None:
    twilio = Twilio(company, mode=Mode.LIVE)

    responses = at_once([twilio.create] * 20)

    assert Message.objects.count() == 1
    assert {response.status for response in responses} <= {201, 429}
    assert len({response.body["sid"] for response in responses if response.status == 201}) == 1


TARGET = {"target": {"type": "phone_number", "value": PHONE}}
WORKFLOW = {"brand": "Shop", "workflow": [{"channel": "sms", "to": PHONE}]}


@pytest.mark.parametrize(
    ("dialect", "path", "body"),
    [
        ("prelude", "/v2/verification", TARGET),
        ("infobip", "/2fa/2/pin", {"to": PHONE}),
        ("vonage", "/v2/verify", WORKFLOW),
    ],
)
def test_second_of_two_creates_waits_for_the_commit_of_the_first(
    company: Company,
    monkeypatch: pytest.MonkeyPatch,
    dialect: str,
    path: str,
    body: dict[str, object],
) -> None:
    """The cool-down begins before the first has committed."""
    key = (company.pk, Mode.LIVE.value, "login")
    ids = {"applicationId": "application", "messageId": "message 6"}
    named = {name: infobip_id(text, *key) for name, text in ids.items()}
    client = DialectClient(dialects()[dialect], client_key(company, mode=Mode.LIVE).plaintext)
    client.json(path, body | named)
    find_live = verifications.find_live
    looks = iter([False, False])  # Vonage looks once before it sends

    monkeypatch.setattr(
        verifications, "find_live", lambda *given: find_live(*given) if next(looks, True) else None
    )
    response = client.json(path, body | named)

    assert response.status == (409 if dialect == "vonage" else 200), response.body
    assert Message.objects.count() == 1
