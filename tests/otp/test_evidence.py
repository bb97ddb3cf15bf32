"""The record of a bound code's agreement, and the part of it that an erasure deletes."""

import hashlib
import json

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import Member
from channels.models import Message
from otp.models import SealedCode, Verification
from tests.api.clients import Api
from tests.otp.sent_codes import code_of, wrong_code
from tests.otp.test_send_options import DOCUMENT, HASH, PAYMENT, PHONE, post
from tests.otp.verifying import sent, verify

pytestmark = pytest.mark.django_db(transaction=True)


def test_evidence_names_the_agreement_without_the_code(api: Api) -> None:
    public_id = sent(api, bind=DOCUMENT, channel="sms", reference="order 7")
    code = code_of(PHONE)
    verify(api, public_id, wrong_code(PHONE), bind=DOCUMENT)
    verify(api, public_id, code, bind=DOCUMENT)

    response = api.get(f"/otp/{public_id}/evidence")

    record = response.body["record"]
    assert response.headers["Content-Disposition"] == f'attachment; filename="{public_id}.json"'
    text = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert response.body["sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert (record["bind"], record["attempts"], record["state"]) == (DOCUMENT, 2, "verified")
    assert (record["company"], record["phone"], record["reference"]) == (
        api.company.name,
        PHONE,
        "order 7",
    )
    (message,) = record["messages"]
    assert "••••••" in message["text"]
    assert f"Contract, SHA-256: {HASH[:16]}…" in message["text"]
    assert code not in message["text"]
    assert message["request_id"].startswith("req_")


def test_other_digits_of_the_text_do_not_reveal_the_code(api: Api) -> None:
    """Nor is the record false where an amount is what the code happens to be."""
    public_id = sent(api, bind=PAYMENT, channel="sms")
    code = code_of(PHONE)
    texts = {"texts": {"sms": f"{{code}} for {code}.00"}}
    Message.objects.update(params=Message.objects.get().params | texts)

    (message,) = api.get(f"/otp/{public_id}/evidence").body["record"]["messages"]

    assert message["text"] == f"•••••• for {code}.00"


def test_evidence_of_a_company_s_custom_code_has_its_text(api: Api) -> None:
    sent_code = post(api, code="aB3xYz", text="Enter :code at the desk", channel="sms")
    SealedCode.objects.all().delete()

    (message,) = api.get(f"/otp/{sent_code.body['verification']}/evidence").body["record"][
        "messages"
    ]

    assert message["text"] == "Enter •••••• at the desk"


def test_evidence_is_downloaded_from_the_page_of_the_message(
    api: Api, client: Client, owner: Member
) -> None:
    public_id = sent(api, bind=PAYMENT)
    message = Message.objects.latest("id")
    url = f"/cabinet/messages/{message.public_id}/evidence.json"

    assert url in client.get(f"/cabinet/messages/{message.public_id}").content.decode()
    body = client.get(url).json()
    assert (body["record"]["verification"], body["record"]["bind"]) == (public_id, PAYMENT)


def test_erasure_takes_what_the_person_was_shown(api: Api) -> None:
    fields = {"bind": PAYMENT, "reference": "order 7", "metadata": {"name": "Ivan"}}
    verification = post(api, **fields).body["verification"]
    Message.objects.update(state="expired", due_at=None)
    Verification.objects.update(superseded_at=timezone.now(), expires_at=timezone.now())
    Message.objects.update(useful_until=timezone.now())

    response = api.post("/persons/erase", {"phone": PHONE})

    assert response.status == 200, response.body
    evidence = api.get(f"/otp/{verification}/evidence").body["record"]
    assert [message["text"] for message in evidence["messages"]] == [None]
    row = Message.objects.get()
    assert (row.reference, row.params.get("texts"), row.params.get("metadata")) == ("", None, None)
    assert Verification.objects.get().binding is None
