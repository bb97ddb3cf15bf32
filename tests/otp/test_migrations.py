"""What migrations do with data, tried on the rows that they found."""

from datetime import timedelta
from importlib import import_module

import pytest
from django.utils import timezone

from accounts.models import Company
from channels.models import BlockedPhone, Contact, Message
from otp.models import Verification
from tests.factories import MessageFactory, VerificationFactory

pytestmark = pytest.mark.django_db
respell = import_module("otp.migrations.0010_present_spellings").respell


def sent(company: Company, phone: str, **fields: object) -> Verification:
    """By default a code that is over."""
    fields = {"expires_at": timezone.now() - timedelta(minutes=1)} | fields
    code: Verification = VerificationFactory.create(company=company, phone=phone, **fields)
    MessageFactory.create(company=company, phone=phone, kind="code", subject_id=code.pk)
    return code


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("+551187654321", "+5511987654321"),
        ("+541123456789", "+5491123456789"),
        ("+841681234567", "+84381234567"),
        ("+24106123456", "+24166123456"),
        ("+3903471234567", "+393471234567"),
    ],
)
def test_phones_are_rewritten_as_they_are_looked_up_now(
    company: Company, old: str, new: str
) -> None:
    code, other = sent(company, old), sent(company, "+79161234567")
    BlockedPhone.objects.create(phone=old)
    Contact.objects.create(phone=old, chat_id=1)
    MessageFactory.create(company=company, phone="+5511*")

    respell(None, None)
    respell(None, None)

    code.refresh_from_db()
    other.refresh_from_db()
    assert (code.phone, code.superseded_at, other.phone) == (new, None, "+79161234567")
    assert set(Message.objects.values_list("phone", flat=True)) == {new, "+79161234567", "+5511*"}
    assert BlockedPhone.objects.get().phone == Contact.objects.get().phone == new


def test_one_code_one_block_and_one_contact_stay_of_two_spellings(company: Company) -> None:
    old, new = "+551187654321", "+5511987654321"
    first, second = sent(company, old), sent(company, new)
    BlockedPhone.objects.create(phone=old, said_stop=True)
    BlockedPhone.objects.create(phone=new, reason="a complaint")
    Contact.objects.create(phone=old, chat_id=1)
    Contact.objects.create(phone=new, chat_id=2, shared_at=timezone.now() - timedelta(days=1))

    respell(None, None)

    live = Verification.objects.filter(phone=new, superseded_at=None)
    assert [one.pk for one in live] == [second.pk]
    assert Verification.objects.get(pk=first.pk).phone == new
    assert list(BlockedPhone.objects.values_list("phone", "said_stop")) == [(new, False)]
    assert list(Contact.objects.values_list("phone", "chat_id")) == [(new, 1)]


def test_live_code_can_still_be_entered(company: Company) -> None:
    old = "+551187654321"
    code = sent(company, old, expires_at=timezone.now() + timedelta(minutes=4))

    respell(None, None)

    code.refresh_from_db()
    assert (code.phone, code.superseded_at) == (old, None)
