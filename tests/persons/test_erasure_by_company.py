"""An erasure by one company leaves the service its evidence, its memory and the person's STOP."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import Company
from billing.wallet import ledger
from channels.lifecycle.state_machine import EventKind
from channels.models import BlockedPhone, KnownRecipient, Message, RememberedPhone
from channels.providers.inbound import Recipient, Reply
from channels.recipients import blocked_phones
from channels.routing.learned import phone_memories
from channels.routing.smart.reach import PhoneMemory
from otp.models import Verification
from persons.erasure import NotFinishedError, erase
from persons.person import Person
from tests.api.clients import Api, ClientOf
from tests.channels.message_stages import accepted, apply_event
from tests.channels.recipients.test_blocked_phones import USER_ID, report_recipients
from tests.factories import CompanyFactory
from tests.otp.sent_codes import code_of, forget_limits
from tests.persons.traces import PHONE, create_all_data

pytestmark = pytest.mark.django_db


def delivered(api: Api, **fields: object) -> Message:
    attempt = accepted(api, PHONE, **fields)
    report_recipients("whatsapp_cloud", Recipient(USER_ID, str(attempt.pk)))
    apply_event(attempt, EventKind.DELIVERED)
    return attempt.message


def test_canceled_code_is_counted_by_the_guard_before_it_is_erased(api: Api) -> None:
    """Otherwise a stolen key would hide each code of its attack."""
    message = delivered(api)
    api.call("DELETE", f"/otp/{Verification.objects.get().public_id}")

    refused = api.post("/persons/erase", {"phone": PHONE})
    Message.objects.filter(pk=message.pk).update(
        delivered_at=timezone.now() - timedelta(minutes=2, seconds=1)
    )

    assert (refused.status, refused.code) == (409, "person_busy")
    assert 100 < refused.body["retry_after"] <= 120
    assert api.post("/persons/erase", {"phone": PHONE}).status == 200


def test_entered_code_is_erased_at_once(api: Api) -> None:
    delivered(api)
    api.post("/otp/verify", {"phone": PHONE, "code": code_of(PHONE)})

    assert api.post("/persons/erase", {"phone": PHONE}).status == 200


def test_operator_erases_at_once(api: Api) -> None:
    delivered(api)
    api.call("DELETE", f"/otp/{Verification.objects.get().public_id}")

    with pytest.raises(NotFinishedError):
        erase(person=Person(PHONE, api.company.pk))
    assert erase(person=Person(PHONE))["messages"] == 1


@pytest.mark.parametrize("is_first", [True, False])
def test_stop_by_user_id_outlives_the_erasure_of_another_company(
    api: Api, client_of: ClientOf, *, is_first: bool
) -> None:
    """The id led to the message that is erased."""
    other = client_of(CompanyFactory.create())
    ledger.grant(company=other.company, amount=100, reason="test")
    for sender in (api, other) if is_first else (other, api):
        delivered(sender, channel="whatsapp")
        if not is_first:  # on another day
            KnownRecipient.objects.update(seen_at=timezone.now() - timedelta(hours=25))
    code = Verification.objects.filter(company=api.company)
    code.update(verified_at=timezone.now(), settled_at=timezone.now())
    assert api.post("/persons/erase", {"phone": PHONE}).status == 200

    blocked_phones.apply_reply("whatsapp_cloud", Reply("", "STOP", USER_ID))

    assert list(BlockedPhone.objects.values_list("phone", flat=True)) == [PHONE]


def test_next_receipt_names_an_erased_person_again(api: Api) -> None:
    delivered(api, channel="whatsapp")
    api.post("/otp/verify", {"phone": PHONE, "code": code_of(PHONE)})
    assert api.post("/persons/erase", {"phone": PHONE}).status == 200
    forget_limits()

    delivered(api, channel="whatsapp")
    blocked_phones.apply_reply("whatsapp_cloud", Reply("", "STOP", USER_ID))

    assert BlockedPhone.objects.filter(phone=PHONE).exists()


@pytest.mark.parametrize("mode", ["live", "test"])
def test_only_an_erasure_of_live_data_forgets_what_live_messages_taught(
    company: Company, mode: str
) -> None:
    """Anybody may have a test key; the memory is that of all companies."""
    create_all_data(company, mode=mode)
    memory = PhoneMemory()
    memory.record_proof("telegram", timezone.now().timestamp())
    phone_memories.save_many({PHONE: memory}, timezone.now().timestamp())

    assert erase(person=Person(PHONE, company.pk, mode))["messages"] == 2

    assert RememberedPhone.objects.exists() is (mode == "test")
