"""Trial messages use the ordinary send path and are charged to the service's own company."""

from collections.abc import Iterator

import pytest
import responses
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Company, User
from billing.models import Transfer
from billing.wallet import ledger
from channels.deliver.dispatcher import Dispatcher
from channels.models import Attempt, BlockedPhone, Message
from channels.reconciliation import breaches
from channels.vendor_accounts import registry
from operator_admin.vendors.trial_message import COMPANY, trial_for
from persons import company_deletion
from tests.channels.providers.vendors import body_of
from tests.factories import MemberFactory
from tests.operator_admin.operators import make_operator, sign_in
from tests.stack.programs import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
MESSAGES = (
    f"{settings.PROVIDER_ACCOUNTS['twilio']['api_url']}/2010-04-01/Accounts/{settings.PROVIDER_ACCOUNTS['twilio']['account_sid']}"
    "/Messages.json"
)
SENT = {"sid": "SM00000000000000000000000000000001", "status": "queued"}


@pytest.fixture
def vendor() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock(assert_all_requests_are_fired=False) as wire:
        wire.post(MESSAGES, json=SENT, status=201)
        yield wire


def send(client: Client, provider: str = "twilio", phone: str = "8 916 123-45-67") -> str:
    data = {"phone": phone, "locale": "ru"}
    response = client.post(reverse("admin:trial", args=[provider]), data, follow=True)
    return str(response.content.decode())


def test_trial_is_a_message_like_others(
    client: Client, operator: User, dispatcher: Dispatcher, vendor: responses.RequestsMock
) -> None:
    page = send(client)

    message = Message.objects.get()
    assert (message.company.name, message.phone, message.mode) == (COMPANY, "+79161234567", "live")
    assert message.public_id in page
    assert Attempt.objects.get().provider_id == "SM00000000000000000000000000000001"
    (call,) = vendor.calls
    assert "To=%2B79161234567" in body_of(call.request).decode()


def test_service_company_tokens_are_in_the_ledger(
    client: Client, operator: User, dispatcher: Dispatcher, vendor: responses.RequestsMock
) -> None:
    send(client)

    company = Company.objects.get(name=COMPANY)
    kinds = Transfer.objects.filter(company=company).order_by("id")
    assert [(kind.kind, kind.amount, kind.created_by) for kind in kinds] == [
        ("grant", 16, operator),
        ("hold", 16, None),
    ]
    assert ledger.balance(company.pk) == (0, 16)
    assert list(breaches()) == []
    assert [event.action for event in company.audit.order_by("id")] == [
        "company.created",
        "trial.sent",
    ]
    assert company.audit.get(action="trial.sent").subject == "twilio +7916•••4567"


def test_second_trial_waits_for_the_cool_down_and_grants_no_more(
    client: Client, operator: User, dispatcher: Dispatcher, vendor: responses.RequestsMock
) -> None:
    send(client)

    page = send(client)

    assert "Код уже отправлен" in page
    assert Message.objects.count() == 1


@pytest.mark.parametrize("is_deleted", [False, True])
def test_company_with_service_name_is_not_the_service_company(
    client: Client,
    operator: User,
    dispatcher: Dispatcher,
    vendor: responses.RequestsMock,
    *,
    is_deleted: bool,
) -> None:
    member = MemberFactory.create(company__name=COMPANY)
    stranger = member.company
    if is_deleted:  # which leaves it without people
        stranger.closes_at = timezone.now()
        stranger.save()
        assert company_deletion.delete(stranger)

    send(client)

    assert Message.objects.get().company != stranger
    assert ledger.balance(stranger.pk) == (0, 0)


@pytest.mark.parametrize("phone", ["123", "не номер"])
def test_invalid_phone_is_reported(client: Client, operator: User, phone: str) -> None:
    assert "Неверный номер телефона; проверьте цифры и код страны" in send(client, phone=phone)
    assert not Company.objects.exists()


def test_blocked_phone_is_reported(client: Client, operator: User) -> None:
    BlockedPhone.objects.create(phone="+79161234567")

    assert "Получатель недоступен" in send(client)
    assert not Message.objects.exists()


def test_vendors_refusal_leads_to_the_message(
    client: Client, operator: User, dispatcher: Dispatcher, vendor: responses.RequestsMock
) -> None:
    vendor.reset()
    refused = {"code": 21211, "message": "Invalid 'To' Phone Number"}
    vendor.post(MESSAGES, json=refused, status=400)

    send(client)

    wait_until(lambda: Message.objects.get().state == "failed")
    message = Message.objects.get()
    page = client.get(reverse("admin:channels_message_change", args=[message.pk])).content.decode()
    assert "Получатель недоступен" in page
    assert "21211" in page


def test_trial_has_the_content_its_provider_carries() -> None:
    tried = {name: trial_for(name) for name in registry.live_providers()}

    assert {name: trial and trial.content.value for name, trial in tried.items()} == {
        "whatsapp_cloud": "code",
        "telegram_gateway": "code",
        "telegram_bot": "code_with_link",
        "twilio": "code",
        "max_bot": "code",
    }
    assert trial_for("nobody") is None


def test_provider_that_is_not_configured_has_no_trial(client: Client, operator: User) -> None:
    assert client.get(reverse("admin:trial", args=["nobody"])).status_code == 404


def test_operator_who_may_not_move_money_sends_no_trial(client: Client) -> None:
    user = make_operator()
    user.is_superuser = False
    user.save()
    sign_in(client, user, "password", "mfa")

    assert client.get(reverse("admin:trial", args=["twilio"])).status_code == 403
