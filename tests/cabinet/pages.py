"""Every page of the cabinet, and a company with content for each."""

from datetime import timedelta

from django.urls import reverse
from django.utils import timezone

from accounts.audit import record
from accounts.models import Company, Mode
from billing.gateways import registry
from billing.models import BalanceAlert
from billing.orders import orders
from billing.orders.prices import Quote
from catalogue.ids import uuid7
from channels.models import Message, RouteDay
from channels.routing.stored_rules import StoredRule, rules_of
from links.clicks import partitions
from links.models import ClickDay, LinkImport, Stop
from otp.models import Autofill, GuardReplay, GuardRestriction
from persons.models import CompanyExport
from tests.billing.top_ups import fill_billing_details
from tests.cabinet.requests import create_request
from tests.cabinet.routes import COLLEAGUE
from tests.document_factories import ClosedMonthFactory, DocumentFactory
from tests.factories import (
    ApiKeyFactory,
    AttemptFactory,
    CodeTextFactory,
    DeliveryFactory,
    EndpointFactory,
    HookFactory,
    InvitationFactory,
    LinkFactory,
    MemberFactory,
    MessageFactory,
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
from tests.sql import execute
from webhooks.models import DeliveryAttempt


def create_content(company: Company) -> None:
    """Keys alive and dead, and messages delivered, under way and failed."""
    now = timezone.now()
    WalletFactory.create(company=company, available=21, held=2)
    MemberFactory.create(company=company, role="viewer", user__name=COLLEAGUE)
    InvitationFactory.create(company=company)
    record("settings.changed", "brand", company=company, user=None)
    key = ApiKeyFactory.create(company=company, last_used_at=now, allowed_ips=["203.0.113.7"])
    ApiKeyFactory.create(company=company, expires_at=now + timedelta(days=3))
    ApiKeyFactory.create(company=company, revoked_at=now)
    delivered = MessageFactory.create(
        company=company, api_key=key, state="delivered", delivered_at=now, request_id="req_1"
    )
    ReceiptFactory.create(attempt=AttemptFactory.create(message=delivered, state="delivered"))
    TransferFactory.create(company=company, kind="hold", message_id=delivered.id)
    TransferFactory.create(
        company=company, kind="capture", proof="receipt", message_id=delivered.id
    )
    sell(company)
    BalanceAlert.objects.create(company=company, kind="tokens", level=50)
    MessageFactory.create(company=company, mode=Mode.TEST, price=0)
    fail(MessageFactory.create(company=company, channel="sms", price=16))

    create_webhooks(company)
    HookFactory.create(company=company, channels=["whatsapp", "sms"])
    CodeTextFactory.create(company=company, locale="en", body="{code} — your code.\n{link}")
    Autofill.objects.create(company=company, webotp_host="example.com", app_hash="FA+9qCX9VSu")
    rule = StoredRule("RU", "№ 1", ["telegram", "sms"], {"sms": 60}, 16, ["whatsapp"])
    company.policy = [rule.stored()]
    company.save(update_fields=["policy"])
    create_links(company)
    create_imports(company)
    create_request(company)
    create_export(company)
    create_verification(company)
    create_restrictions(company)
    create_route_days(company)


def create_route_days(company: Company) -> None:
    """Creates enough days to show savings in Russia, and too few for other countries."""
    today = timezone.localdate()
    for country, arm, codes, tokens in [
        ("RU", "smart", 950, 2000),
        ("RU", "hold_out", 50, 600),
        ("KZ", "smart", 3, 3),
    ]:
        RouteDay.objects.create(
            company=company,
            day=today,
            country=country,
            arm=arm,
            codes=codes,
            entered=codes - 1,
            tokens=tokens,
            tokens_squared=tokens * 16,
            seconds=codes * 11.0,
        )


def create_verification(company: Company) -> None:
    """A verification for the delivered code."""
    message = company.messages.filter(state="delivered", kind="code").first()
    assert message is not None
    verification = VerificationFactory.create(
        id=message.subject_id, company=company, phone=message.phone, mode=message.mode
    )
    params = {"brand": "№ 1", "key": verification.key_id, "length": verification.length}
    Message.objects.filter(pk=message.pk).update(params=params)


def create_restrictions(company: Company) -> None:
    """Creates a range that is held back, one that was, and the report of the last week."""
    now = timezone.now()
    shared = {
        "company": company,
        "kind": "prefix-4",
        "rule": "unverified",
        "is_enforced": True,
        "codes": 12,
        "excess": 176,
        "began_at": now - timedelta(hours=1),
        "until": now + timedelta(hours=1),
    }
    GuardRestriction.objects.create(
        value="+7916123", step=GuardRestriction.Step.REFUSE, stopped=3, **shared
    )
    GuardRestriction.objects.create(
        value="+7916124",
        step=GuardRestriction.Step.CHEAP_ONLY,
        is_early=True,
        ended_at=now,
        **shared,
    )
    GuardReplay.objects.create(
        company=company,
        asked_at=now,
        finished_at=now,
        codes=5120,
        refused=12,
        tokens=192,
        since=now,
    )


def create_export(company: Company) -> None:
    CompanyExport.objects.create(
        company=company,
        user=UserFactory.create(),
        language="ru",
        state="ready",
        rows=12,
        finished_at=timezone.now(),
    )


def create_imports(company: Company) -> None:
    """A file with a row that has its link and one that has none."""
    link_import = LinkImport.objects.create(
        company=company, mode="live", file_name="links.csv", total=2, refused=1, ignored=["17"]
    )
    link_import.rows.create(
        number=1, url="https://example.com/a", short_url="https://e.example/bcdfghjk"
    )
    link_import.rows.create(number=2, url="http://localhost", error="422")


def create_links(company: Company) -> None:
    """A link that people follow, one in a message, and two that lead nowhere any more."""
    now = timezone.now()
    link = LinkFactory.create(company=company, clicks=3, previews=1, last_click_at=now)
    LinkFactory.create(company=company, disabled_at=now)
    LinkFactory.create(company=company, expires_at=now)
    once = LinkFactory.create(
        company=company, batch_id=uuid7(), utm="utm_source=shop", is_once=True
    )
    Stop.objects.create(company=company, batch_id=once.batch_id)
    sent = MessageFactory.create(company=company, kind="link", params={"short_url": "https://…"})
    carried = LinkFactory.create(company=company, message_id=sent.id)
    Message.objects.filter(pk=sent.pk).update(subject_id=carried.id)
    ClickDay.objects.create(link=link, day=timezone.localdate(now), clicks=3, previews=1)
    partitions.ensure_upcoming()
    execute(
        "INSERT INTO links_click VALUES (%s, %s, 'person', 'news.example', 'ios', 'KZ')",
        [link.id, now],
    )


def create_webhooks(company: Company) -> None:
    """An endpoint in trouble, whose secret is being replaced, and one that was switched off."""
    now = timezone.now()
    endpoint = EndpointFactory.create(
        company=company,
        description="№ 1",
        failing_since=now,
        generation=2,
        previous_key_id="1",
        previous_until=now + timedelta(hours=5),
    )
    for kind, state in [("message.delivered", "delivered"), ("message.failed", "failed")]:
        delivery = DeliveryFactory.create(
            endpoint=endpoint,
            event__kind=kind,
            event__data={"id": "msg_1", "phone": "+79990000000"},
            state=state,
            due_at=None,
            finished_at=now,
            tries=1,
        )
        DeliveryAttempt.objects.create(
            delivery=delivery,
            started_at=now,
            duration_ms=120,
            headers={"webhook-id": delivery.event.public_id, "webhook-timestamp": "1795176000"},
            status=200 if state == "delivered" else 500,
            response="ok" if state == "delivered" else "<html>down for maintenance</html>",
        )
    DeliveryFactory.create(endpoint=endpoint)
    EndpointFactory.create(company=company, mode=Mode.TEST, disabled_at=now, disabled_reason="gone")


def sell(company: Company) -> None:
    """Creates prices, an invoice that waits for its payment, and top-ups that ended."""
    SellerFactory.create()
    TariffFactory.create()
    package = PackageFactory.create()
    gateway = registry.find("invoice")
    assert gateway is not None
    quote = Quote(package.tokens, package.price, package.currency, package)
    fill_billing_details(company)
    orders.place(company=company, quote=quote, gateway=gateway)
    OrderFactory.create(company=company)
    OrderFactory.create(company=company, state="paid", paid_at=timezone.now())
    OrderFactory.create(company=company, state="expired")
    ClosedMonthFactory.create(company=company)
    DocumentFactory.create(company=company)


def fail(message: Message) -> None:
    now = timezone.now()
    message.state = "failed"
    message.error = "recipient_unreachable"
    message.finished_at = now
    message.save()
    AttemptFactory.create(
        message=message,
        provider="twilio",
        state="failed",
        error_class="unreachable",
        error_code="21614",
        finished_at=now,
    )


def addresses(company: Company) -> list[str]:
    """The pages a member opens; the company's own objects are in the parametrised ones."""
    key = company.api_keys.active().filter(expires_at=None).get()
    names = ["overview", "message-list", "key-list", "key-create", "settings", "test-phone"]
    names += ["member-list", "member-invite", "audit-list", "settings-preview"]
    names += ["webhook-list", "webhook-create", "text-list", "text-create", "text-preview"]
    names += ["hook-list", "hook-create"]
    names += ["autofill-edit", "autofill-preview", "link-list", "link-create"]
    names += ["link-stop-all", "budget-edit"]
    names += ["balance", "balance-statement", "balance-order-list", "balance-profile"]
    names += ["document-list", "statement-check"]
    top_ups = [
        reverse(name, args=[order.public_id])
        for order in company.orders.all()
        for name in ("balance-order", "balance-order-status", "balance-order-cancel")
    ]
    colleague = company.members.get(user__name=COLLEAGUE)
    people = [reverse(name, args=[colleague.pk]) for name in ("member-role", "member-remove")]
    messages = [reverse("message-detail", args=[m.public_id]) for m in company.messages.all()]
    statuses = [reverse("message-status", args=[m.public_id]) for m in company.messages.all()]
    key_pages = [reverse(name, args=[key.pk]) for name in ("key-rotate", "key-revoke")]
    endpoint = company.endpoints.get(disabled_at=None)
    webhooks = [
        reverse(f"webhook-{name}", args=[endpoint.public_id])
        for name in ("detail", "edit", "rotate", "delete")
    ]
    hook = company.identity_hooks.get()
    hooks = [
        reverse(f"hook-{name}", args=[hook.pk]) for name in ("detail", "edit", "rotate", "revoke")
    ]
    deliveries = [
        reverse("delivery-detail", args=[delivery.public_id])
        for delivery in endpoint.deliveries.all()
    ]
    links = [reverse("link-detail", args=[link.public_id]) for link in company.links.all()]
    followed = company.links.get(clicks=3)
    links += [reverse(f"link-{name}", args=[followed.public_id]) for name in ("edit", "disable")]
    batch = company.links.exclude(batch_id=None).get().batch
    links += [reverse("link-batch-stop", args=[batch]), f"{reverse('link-list')}?batch={batch}"]
    own = company.code_texts.get()
    texts = [reverse(name, args=[own.pk]) for name in ("text-edit", "text-delete")]
    policy = reverse("policy")
    (rule,) = rules_of(company)
    policies = [policy, f"{policy}?phone=89161234567&purpose=№ 1", f"{policy}?phone=1"]
    policies.append(reverse("policy-rule-create"))
    policies += [
        reverse(name, args=[rule.address]) for name in ("policy-rule-edit", "policy-rule-delete")
    ]
    account = ["profile", "account_email", "account_change_password", "mfa_index", "account_logout"]
    return [
        *map(reverse, names),
        *policies,
        reverse("overview") + "?mode=test",
        *people,
        reverse("message-list") + "?mode=test&phone=%2B7999&date_from=junk",
        reverse("balance-statement") + "?kind=all&date_to=junk",
        reverse("balance-quote") + "?tokens=1 000",
        *top_ups,
        *messages,
        *statuses,
        *key_pages,
        *webhooks,
        *hooks,
        *links,
        *texts,
        reverse("text-preview") + "?locale=en&body=It’s {code}",
        reverse("autofill-preview") + "?webotp_host=x",
        f"{webhooks[0]}?state=failed&cursor=junk",
        *deliveries,
        *map(reverse, account),
    ]


ANONYMOUS = ["home", "account_login", "account_signup", "account_reset_password"]
