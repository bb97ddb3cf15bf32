"""Every page of the cabinet, and a company with something to show on each."""

from datetime import timedelta

from django.urls import reverse
from django.utils import timezone

from accounts.models import Company, Mode
from accounts.services import record
from channels.models import Message
from tests.cabinet.routes import COLLEAGUE
from tests.factories import (
    ApiKeyFactory,
    AttemptFactory,
    InvitationFactory,
    MemberFactory,
    MessageFactory,
    ReceiptFactory,
    TransferFactory,
    WalletFactory,
)


def furnish(company: Company) -> None:
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
    MessageFactory.create(company=company, mode=Mode.TEST, price=0)
    fail(MessageFactory.create(company=company, channel="sms", price=16))


def fail(message: Message) -> None:
    now = timezone.now()
    message.state, message.error = "failed", "recipient_unreachable"
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
    """The pages a member opens; the company's own objects stand in the parametrised ones."""
    key = company.api_keys.active().filter(expires_at=None).get()
    names = ["overview", "message-list", "key-list", "key-create", "settings", "test-phone"]
    names += ["member-list", "member-invite", "audit-list", "settings-preview"]
    colleague = company.members.get(user__name=COLLEAGUE)
    people = [reverse(name, args=[colleague.pk]) for name in ("member-role", "member-remove")]
    messages = [reverse("message-detail", args=[m.public_id]) for m in company.messages.all()]
    statuses = [reverse("message-status", args=[m.public_id]) for m in company.messages.all()]
    key_pages = [reverse(name, args=[key.pk]) for name in ("key-rotate", "key-revoke")]
    account = ["account_email", "account_change_password", "mfa_index", "account_logout"]
    return [
        *map(reverse, names),
        reverse("overview") + "?mode=test",
        *people,
        reverse("message-list") + "?mode=test&phone=%2B7999&date_from=junk",
        *messages,
        *statuses,
        *key_pages,
        *map(reverse, account),
    ]


ANONYMOUS = ["home", "account_login", "account_signup", "account_reset_password"]
