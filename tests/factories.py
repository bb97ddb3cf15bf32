"""Factories of rows. A test names only the fields it is about; `.create(...)` keeps the types."""

# factory_boy annotates what factories make, and none of the declarations they are made of.
# mypy: disable-error-code="no-untyped-call"

import hashlib
import secrets
from datetime import timedelta
from decimal import Decimal
from functools import cache
from typing import Any

from django.contrib.auth.hashers import make_password
from django.utils import timezone
from factory.declarations import (
    LazyAttribute,
    LazyFunction,
    Maybe,
    SelfAttribute,
    Sequence,
    SubFactory,
)
from factory.django import DjangoModelFactory

from accounts.keys import key_format
from accounts.models import ApiKey, Company, Invitation, Member, Mode, User, every_scope
from billing.models import Order, Package, Seller, Tariff, Transfer, Wallet
from catalogue.ids import uuid7
from channels.models import Attempt, Message, Receipt
from identity_hooks import hooks
from identity_hooks.models import Hook
from links.models import Link, ShortHost
from otp.models import CodeText, Verification
from tools.demo.past_transfers import correct_balances
from webhooks.models import Delivery, Endpoint, Event, EventKind

PASSWORD = "correct horse battery"


@cache
def _hashed_password() -> str:
    return make_password(PASSWORD)  # slow by design, so once for all users


class UserFactory(DjangoModelFactory[User]):
    """A user who signs in with PASSWORD."""

    class Meta:
        model = User

    email = Sequence(lambda n: f"person{n}@example.com")
    password = LazyFunction(_hashed_password)


class CompanyFactory(DjangoModelFactory[Company]):
    class Meta:
        model = Company

    name = Sequence(lambda n: f"Company {n}")
    status = Company.Status.APPROVED


class MemberFactory(DjangoModelFactory[Member]):
    class Meta:
        model = Member

    company = SubFactory(CompanyFactory)
    user = SubFactory(UserFactory)
    role = Member.Role.OWNER


class InvitationFactory(DjangoModelFactory[Invitation]):
    class Meta:
        model = Invitation

    company = SubFactory(CompanyFactory)
    email = Sequence(lambda n: f"invited{n}@example.com")
    role = Member.Role.DEVELOPER
    invited_by = LazyAttribute(lambda invitation: _creator(invitation.company, is_active=True))


def _creator(company: Company, *, is_active: bool = False) -> User:
    """An owner, who may give a key every scope; gets no e-mails unless the test made him."""
    owner = company.members.filter(role=Member.Role.OWNER).select_related("user").first()
    owner = owner or MemberFactory.create(company=company, user__is_active=is_active)
    return owner.user


class IssuedKey(ApiKey):
    """A key as its owner holds it: the row, and the text that is kept nowhere else."""

    plaintext: str

    class Meta:
        proxy = True
        app_label = "tests"


class ApiKeyFactory(DjangoModelFactory[IssuedKey]):
    class Meta:
        model = IssuedKey

    company = SubFactory(CompanyFactory)
    created_by = LazyAttribute(lambda row: _creator(row.company))
    mode = Mode.LIVE
    name = Sequence(lambda n: f"Key {n}")
    purpose = ""
    scopes = LazyAttribute(lambda row: ["verify"] if row.purpose else every_scope())
    plaintext = LazyAttribute(lambda row: key_format.generate(row.mode))
    digest = LazyAttribute(lambda row: key_format.digest(row.plaintext))
    prefix = LazyAttribute(lambda row: row.plaintext[:12])
    last4 = LazyAttribute(lambda row: row.plaintext[-4:])

    @classmethod
    def _create(cls, model_class: type[IssuedKey], *args: Any, **kwargs: Any) -> IssuedKey:
        plaintext = kwargs.pop("plaintext")
        key: IssuedKey = super()._create(model_class, *args, **kwargs)
        key.plaintext = plaintext
        return key


class EndpointFactory(DjangoModelFactory[Endpoint]):
    """An endpoint for every event, at an address where nobody listens."""

    class Meta:
        model = Endpoint

    company = SubFactory(CompanyFactory)
    mode = Mode.LIVE
    url = Sequence(lambda n: f"https://receiver.example.com/kvitok/{n}")
    kinds = LazyFunction(lambda: list(EventKind.values))
    key_id = "1"


class HookFactory(DjangoModelFactory[Hook]):
    class Meta:
        model = Hook

    company = SubFactory(CompanyFactory)
    mode = Mode.LIVE
    kind = "logto"
    name = Sequence(lambda n: f"Logto {n}")
    secret = LazyFunction(lambda: hooks.TEXTS.encrypt("kvh_" + secrets.token_hex(20)))


class EventFactory(DjangoModelFactory[Event]):
    class Meta:
        model = Event

    company = SubFactory(CompanyFactory)
    mode = Mode.LIVE
    kind = EventKind.MESSAGE_DELIVERED
    key = Sequence(lambda n: f"msg_{n}")
    data = LazyAttribute(lambda row: {"id": row.key})
    at = LazyFunction(timezone.now)


class DeliveryFactory(DjangoModelFactory[Delivery]):
    """A delivery that is due at once."""

    class Meta:
        model = Delivery

    endpoint = SubFactory(EndpointFactory)
    event = SubFactory(
        EventFactory,
        company=SelfAttribute("..endpoint.company"),
        mode=SelfAttribute("..endpoint.mode"),
    )


class WalletFactory(DjangoModelFactory[Wallet]):
    class Meta:
        model = Wallet

    company = SubFactory(CompanyFactory)
    available = 1000


class MessageFactory(DjangoModelFactory[Message]):
    """A code on its way by WhatsApp, queued and due at once."""

    class Meta:
        model = Message

    company = SubFactory(CompanyFactory)
    mode = Mode.LIVE
    kind = Message.Kind.CODE
    content = "code"
    channel = "whatsapp"
    phone = Sequence(lambda n: f"+7999{n % 10_000_000:07d}")
    subject_id = LazyFunction(uuid7)
    locale = "ru"
    state = Message.State.QUEUED
    is_undelivered = LazyAttribute(lambda row: row.state in {"failed", "expired"})
    price = 1
    useful_until = LazyFunction(lambda: timezone.now() + timedelta(seconds=300))
    deadline = LazyFunction(lambda: timezone.now() + timedelta(seconds=600))


class AttemptFactory(DjangoModelFactory[Attempt]):
    class Meta:
        model = Attempt

    message = SubFactory(MessageFactory)
    n = 1
    channel = SelfAttribute("message.channel")
    provider = "whatsapp_cloud"
    provider_id = LazyFunction(lambda: f"wamid.{secrets.token_hex(12)}")
    state = Attempt.State.SENT
    accepted_at = LazyFunction(timezone.now)


class ReceiptFactory(DjangoModelFactory[Receipt]):
    class Meta:
        model = Receipt

    attempt = SubFactory(AttemptFactory)
    provider = SelfAttribute("attempt.provider")
    provider_id = SelfAttribute("attempt.provider_id")
    ref = SelfAttribute("attempt.id")
    digest = LazyFunction(lambda: secrets.token_bytes(32))
    state = "delivered"
    vendor_status = "delivered"
    at = LazyFunction(timezone.now)
    raw = b"{}"


class TransferFactory(DjangoModelFactory[Transfer]):
    """One line of the ledger; the wallet next to it is left as it is."""

    class Meta:
        model = Transfer

    company = SubFactory(CompanyFactory)
    kind = Transfer.Kind.GRANT
    amount = 1
    message_id = None
    hold = Maybe("message_id", 1, None)
    key = Maybe("message_id", None, Sequence(lambda n: f"test:{n}"))
    balance_after = LazyAttribute(lambda row: None if row.kind in {"hold", "release"} else 0)

    @classmethod
    def _create(cls, *args: Any, **fields: Any) -> Transfer:
        row: Transfer = super()._create(*args, **fields)
        correct_balances([row.company_id])
        row.refresh_from_db(fields=["balance_after"])
        return row


def create_transfers(rows: list[Transfer]) -> None:
    """Stores many built lines at once: `TransferFactory.create` sums up the ledger for each."""
    Transfer.objects.bulk_create(rows)
    correct_balances(list({row.company_id for row in rows}))


class PackageFactory(DjangoModelFactory[Package]):
    class Meta:
        model = Package
        django_get_or_create = ("code",)

    code = "start"
    tokens = 1000
    price = Decimal("1900.00")


class TariffFactory(DjangoModelFactory[Tariff]):
    class Meta:
        model = Tariff
        django_get_or_create = ("currency", "tokens_from")

    currency = "RUB"
    tokens_from = 100
    price = Decimal("2.0000")


class SellerFactory(DjangoModelFactory[Seller]):
    """A company that pays VAT."""

    class Meta:
        model = Seller
        django_get_or_create = ("id",)

    id = 1
    name = "ООО «Продавец»"
    inn = "7700000009"
    kpp = "770001001"
    address = "101000, Москва, Примерная улица, дом 1"
    bank_name = "ПАО «Пример-банк», г. Москва"
    bic = "044500000"
    account = "40700000000000000001"
    corr_account = "30100000000000000001"
    vat_rate = Decimal("22.00")
    head = "Петров П. П."


class OrderFactory(DjangoModelFactory[Order]):
    """An order that waits for a payment by the sandbox."""

    class Meta:
        model = Order

    company = SubFactory(CompanyFactory)
    tokens = 1000
    amount = Decimal("1900.00")
    currency = "RUB"
    gateway = "sandbox"
    state = Order.State.PENDING
    payment_id = LazyAttribute(lambda row: f"sandbox-{row.id.hex}")
    id = LazyFunction(uuid7)
    expires_at = LazyFunction(lambda: timezone.now() + timedelta(hours=1))


class VerificationFactory(DjangoModelFactory[Verification]):
    """A live verification whose code nobody knows."""

    class Meta:
        model = Verification

    company = SubFactory(CompanyFactory)
    mode = Mode.LIVE
    phone = Sequence(lambda n: f"+7999{n % 10_000_000:07d}")
    purpose = "verification"
    mac = LazyFunction(lambda: hashlib.sha256(secrets.token_bytes(8)).digest())
    key_id = "1"
    length = 6
    max_attempts = 5
    expires_at = LazyFunction(lambda: timezone.now() + timedelta(seconds=300))


class CodeTextFactory(DjangoModelFactory[CodeText]):
    """A text for one purpose, by every channel."""

    class Meta:
        model = CodeText

    company = SubFactory(CompanyFactory)
    purpose = Sequence(lambda n: f"purpose_{n}")
    locale = "ru"
    body = "{brand}: вход по коду {code}"


class ShortHostFactory(DjangoModelFactory[ShortHost]):
    class Meta:
        model = ShortHost

    host = Sequence(lambda n: f"go{n}.example")
    company = SubFactory(CompanyFactory)


def _key_of_link(row: Any) -> str:
    key = row.slug.lower() if row.is_alias else row.slug
    host = getattr(row, "host", None)
    return f"{host.pk}/{key}" if host else str(key)


class LinkFactory(DjangoModelFactory[Link]):
    class Meta:
        model = Link

    company = SubFactory(CompanyFactory)
    mode = Mode.LIVE
    slug = Sequence(lambda n: f"bcdfghj{n}")
    key = LazyAttribute(_key_of_link)
    is_alias = False
    url = "https://example.com/"
