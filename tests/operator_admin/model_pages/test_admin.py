"""The admin's lists and pages of rows, for every model."""

import pytest
from django.contrib import admin
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.keys import api_keys
from accounts.models import ApiKey, AuditEvent, Company, Member, User
from api.models import IdempotentRequest
from billing.models import BillingProfile, Order, Package, Payment, Seller, Tariff, Transfer, Wallet
from channels.models import Attempt, BlockedPhone, Contact, Message, Receipt
from links.models import Link, Report, Stop
from operator_admin.model_pages.change_list import in_lines
from otp.models import Verification
from tests.factories import (
    ApiKeyFactory,
    LinkFactory,
    MemberFactory,
    OrderFactory,
    PackageFactory,
    ReceiptFactory,
    SellerFactory,
    TariffFactory,
    TransferFactory,
    UserFactory,
    VerificationFactory,
    WalletFactory,
)

pytestmark = pytest.mark.django_db

READ_ONLY: list[type[Model]] = [
    ApiKey,
    AuditEvent,
    IdempotentRequest,
    Wallet,
    Transfer,
    Order,
    Payment,
    BillingProfile,
    Message,
    Attempt,
    Receipt,
    Verification,
    Link,
    Report,
    Stop,
]
EDITABLE: list[type[Model]] = [
    User,
    Company,
    Member,
    Package,
    Tariff,
    Seller,
    Contact,
    BlockedPhone,
]


def page(model: type[Model], name: str, *args: object) -> str:
    meta = model._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_{name}", args=args)


def create_rows(rows: int = 1) -> None:
    """Rows in every table, each of its own company."""
    for n in range(rows):
        member = MemberFactory.create()
        company = member.company
        user = member.user
        ApiKeyFactory.create(company=company, created_by=user)
        AuditEvent.objects.create(company=company, user=user, action="key.created", subject="x")
        IdempotentRequest.objects.create(
            company=company, mode="live", path="/otp/send", key=str(n), request_hash=b""
        )
        WalletFactory.create(company=company)
        TransferFactory.create(company=company, created_by=user)
        order = OrderFactory.create(company=company)
        Payment.objects.create(
            gateway="sandbox", payment_id=str(order.id), order=order, amount=1, currency="RUB"
        )
        BillingProfile.objects.create(company=company)
        PackageFactory.create(code=f"package{n}")
        TariffFactory.create(tokens_from=n + 1)
        SellerFactory.create()
        ReceiptFactory.create(attempt__message__company=company)
        VerificationFactory.create(company=company)
        link = LinkFactory.create(company=company)
        Report.objects.create(link=link, reason="spam")
        Stop.objects.create(company=company)
        Contact.objects.create(provider="telegram_bot", phone=f"+7916000000{n}", chat_id=n)
        BlockedPhone.objects.create(phone=f"+7916000000{n}")


def test_every_own_model_is_registered_in_the_admin() -> None:
    ours = {"accounts", "api", "billing", "channels", "links", "otp"}
    registered = {model for model in admin.site._registry if model._meta.app_label in ours}

    assert registered >= set(READ_ONLY) | set(EDITABLE)


def first_row(model: type[Model]) -> Model:
    row = model._default_manager.first()
    assert row is not None
    return row


def test_lists_open_and_search_and_so_do_pages_of_rows(client: Client, operator: User) -> None:
    create_rows()

    for model in READ_ONLY + EDITABLE:
        addresses = [f"{page(model, 'changelist')}{query}" for query in ("", "?q=%2B7916", "?q=7")]
        addresses.append(page(model, "change", first_row(model).pk))
        assert [client.get(address).status_code for address in addresses] == [200] * 4, model


def test_history_models_are_read_only(client: Client, operator: User) -> None:
    create_rows()

    for model in READ_ONLY:
        row = first_row(model)
        responses = [
            client.get(page(model, "add")),
            client.post(page(model, "change", row.pk), {}),
            client.post(page(model, "delete", row.pk), {"post": "yes"}),
        ]
        assert [response.status_code for response in responses] == [403, 403, 403], model


def test_changelist_query_count_is_constant(client: Client, operator: User) -> None:
    def queries() -> dict[type[Model], int]:
        counts = {}
        for model in READ_ONLY + EDITABLE:
            with CaptureQueriesContext(connection) as captured:
                client.get(page(model, "changelist"))
            counts[model] = len(captured)
        return counts

    create_rows(1)
    short = queries()
    Contact.objects.all().delete()
    BlockedPhone.objects.all().delete()
    create_rows(3)

    assert max(short.values()) <= 20
    assert {model: n for model, n in queries().items() if n > short[model]} == {}


def test_digest_of_a_key_is_not_shown(client: Client, operator: User) -> None:
    key = ApiKeyFactory.create()

    body = client.get(page(ApiKey, "change", key.pk)).content.decode()

    assert key.name in body
    assert bytes(key.digest).hex() not in body
    assert "digest" not in body.lower()


def test_operator_revokes_selected_keys(client: Client, operator: User) -> None:
    key = ApiKeyFactory.create()

    client.post(page(ApiKey, "changelist"), {"action": "revoke", "_selected_action": [key.pk]})

    key.refresh_from_db()
    assert not key.is_active
    assert api_keys.find(key.plaintext) is None
    assert [(event.action, event.user) for event in key.company.audit.all()] == [
        ("key.revoked", operator)
    ]


def test_disabled_link_is_recorded(client: Client, operator: User) -> None:
    link = LinkFactory.create()

    client.post(page(Link, "changelist"), {"action": "disable", "_selected_action": [link.pk]})

    link.refresh_from_db()
    assert not link.is_live
    assert [event.action for event in link.company.audit.all()] == ["link.disabled"]


def test_admin_redirects_to_the_common_sign_in(client: Client) -> None:
    response = client.get(reverse("admin:index"), follow=True)

    assert [address for address, _ in response.redirect_chain][-1] == (
        f"{reverse('account_login')}?next=%2Fadmin%2F"
    )


def test_operator_without_the_right_has_no_revoke_action(client: Client) -> None:
    client.force_login(UserFactory.create(is_staff=True))
    key = ApiKeyFactory.create()

    client.post(page(ApiKey, "changelist"), {"action": "revoke", "_selected_action": [key.pk]})

    key.refresh_from_db()
    assert key.is_active


def test_values_stand_under_their_paths_and_are_escaped() -> None:
    value = {"buyer": {"name": "<b>", "kpp": ""}, "lines": [{"tokens": 5}, {"tokens": 7}]}

    assert in_lines(value) == (
        "<div>buyer · name: &lt;b&gt;</div>"
        "<div>lines · 1 · tokens: 5</div><div>lines · 2 · tokens: 7</div>"
    )


def test_empty_value_is_shown_as_dash() -> None:
    assert in_lines({}) == in_lines([]) == "—"
