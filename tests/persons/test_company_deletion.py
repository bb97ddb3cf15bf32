"""A company due for deletion stops at once, and its recipients are erased; its ledger stays."""

import time
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.keys import api_keys
from accounts.models import AuditEvent, Company, Invitation, Mail, Member
from accounts.people import members, planned_deletion
from billing.models import Order, Transfer, Wallet
from catalogue.errors import DomainError
from channels import reconciliation
from channels.models import Message
from links.models import Link, Stop
from otp.models import CodeText, Verification
from persons import company_deletion
from persons.erasure import erase_with_company
from persons.models import Erasure
from persons.person import Person
from tests.api.races import at_once
from tests.billing.top_ups import place_order
from tests.factories import (
    ApiKeyFactory,
    CodeTextFactory,
    CompanyFactory,
    EndpointFactory,
    InvitationFactory,
    LinkFactory,
    MemberFactory,
    MessageFactory,
    OrderFactory,
    TransferFactory,
    WalletFactory,
)
from tests.persons.traces import OTHER, PHONE, create_all_data, rows_naming
from webhooks import endpoints
from webhooks.models import Endpoint, Event, EventKind

TABLES = (
    "webhooks_event",
    "webhooks_deliveryattempt",
    "api_idempotentrequest",
    "channels_message",
    "channels_receipt",
    "otp_verification",
)


@pytest.fixture
def owner(db: None) -> Member:
    return MemberFactory.create(company__closes_at=timezone.now() - timedelta(minutes=1))


def settle(company: Company) -> None:
    """Moves the deletion further into the past."""
    long_ago = timezone.now() - 2 * company_deletion.SETTLED_AFTER
    Company.objects.filter(pk=company.pk, deleted_at__isnull=False).update(deleted_at=long_ago)


def is_erased(company: Company) -> bool:
    return Company.objects.filter(pk=company.pk, erased_at__isnull=False).exists()


def delete_whole(company: Company) -> None:
    company_deletion.run()
    settle(company)
    company_deletion.run()
    company.refresh_from_db()


def test_everything_stops_at_once(owner: Member) -> None:
    company = owner.company
    key = ApiKeyFactory.create(company=company)
    EndpointFactory.create(company=company)
    InvitationFactory.create(company=company)

    company_deletion.run()

    company.refresh_from_db()
    assert company.deleted_at is not None
    assert api_keys.find(key.plaintext) is None
    assert not company.api_keys.active().exists()
    assert not Endpoint.objects.filter(deleted_at=None).exists()
    assert not Invitation.objects.open().exists()
    assert not Member.objects.exists()
    assert Stop.objects.get(company=company, batch_id=None).is_operators
    (mail,) = Mail.objects.all()
    assert mail.to == owner.user.email
    assert "is deleted" in mail.text or "удалена" in mail.text
    assert list(company.audit.order_by("id").values_list("action", flat=True)) == [
        "links.stopped",
        "company.deleted",
    ]


def test_call_admitted_before_deletion_creates_nothing(owner: Member) -> None:
    """A process may accept the key for another two seconds; nobody could remove the rest."""
    company_deletion.run()

    with pytest.raises(DomainError, match="forbidden"):
        endpoints.create(
            company=owner.company,
            mode="live",
            url="https://example.com/hook",
            kinds=[EventKind.MESSAGE_DELIVERED],
            user=None,
        )
    with pytest.raises(DomainError, match="forbidden"):
        place_order(owner.company, "sandbox")

    assert not Endpoint.objects.exists()
    assert not Order.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_links_of_a_deleted_company_are_gone(client: Client) -> None:
    member = MemberFactory.create(company__closes_at=timezone.now())
    link = LinkFactory.create(company=member.company)
    other = LinkFactory.create()
    assert client.get(f"/{link.slug}").status_code == 302

    company_deletion.run()

    assert client.get(f"/{link.slug}").status_code == 410
    assert client.get(f"/{other.slug}").status_code == 302
    settle(member.company)
    company_deletion.run()
    assert client.get(f"/{link.slug}").status_code == 410


def test_deletion_waits_for_its_day(db: None) -> None:
    member = MemberFactory.create(company__closes_at=timezone.now() + timedelta(days=20))
    key = ApiKeyFactory.create(company=member.company)

    company_deletion.run()

    result = api_keys.find(key.plaintext)
    assert result is not None
    assert result.company_status == "approved"
    assert not Mail.objects.exists()


def test_recipients_are_erased_and_the_ledger_stays(owner: Member) -> None:
    company = owner.company
    create_all_data(company)
    create_all_data(company, OTHER, mode="test")
    CodeTextFactory.create(company=company)
    WalletFactory.create(company=company, available=21)
    TransferFactory.create(company=company, kind="grant", amount=21)
    OrderFactory.create(company=company)
    alone = LinkFactory.create(company=company, url="https://example.com/secret?phone=1")
    LinkFactory.create(company=company, slug="79161234567", key="79161234567", is_alias=True)
    audit = AuditEvent.objects.create(company=company, action="settings.changed", subject="brand")

    delete_whole(company)

    assert company.erased_at is not None
    for table in TABLES:
        assert rows_naming(PHONE, table) == rows_naming(OTHER, table) == 0, table
    assert set(Link.objects.values_list("url", flat=True)) == {"about:blank"}
    assert not Link.objects.filter(slug__contains="79161234567").exists()
    alone.refresh_from_db()
    assert alone.disabled_at is not None
    assert not CodeText.objects.exists()
    assert not Event.objects.exists()
    assert Wallet.objects.get(company=company).available == 21
    assert Transfer.objects.filter(company=company).exists()
    assert Order.objects.filter(company=company).exists()
    assert AuditEvent.objects.filter(pk=audit.pk).exists()
    assert Company.objects.get(pk=company.pk).name == company.name
    assert Erasure.objects.filter(company_id=company.pk).count() == 2


def test_other_companies_keep_everything(owner: Member) -> None:
    other = CompanyFactory.create()
    create_all_data(owner.company)
    kept = create_all_data(other)
    LinkFactory.create(company=other, url="https://example.com/kept")
    key = ApiKeyFactory.create(company=other)

    delete_whole(owner.company)

    kept.refresh_from_db()
    assert kept.phone == PHONE
    assert Verification.objects.filter(company_id=other.pk, phone=PHONE).exists()
    assert Link.objects.filter(company=other).exclude(url="about:blank").count() >= 2
    assert api_keys.find(key.plaintext) is not None


def test_messages_under_way_are_erased_later(owner: Member) -> None:
    company = owner.company
    message = MessageFactory.create(company=company, phone=PHONE, state="sent")
    create_all_data(company, OTHER)

    delete_whole(company)

    assert not is_erased(company)
    assert rows_naming(OTHER, "channels_message") == 0
    message.refresh_from_db()
    assert message.phone == PHONE
    Message.objects.filter(pk=message.pk).update(state="failed")
    company_deletion.run()
    assert is_erased(company)
    assert rows_naming(PHONE, "channels_message") == 0


def test_worker_killed_between_steps_is_followed_by_another(
    owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    company = owner.company
    create_all_data(company)
    create_all_data(company, OTHER)
    LinkFactory.create(company=company)
    company_deletion.run()
    settle(company)
    done: list[str] = []

    def die_at_the_second(person: Any) -> None:
        if done:
            raise KeyboardInterrupt
        erase_with_company(person)
        done.append(person.phone)

    monkeypatch.setattr(company_deletion, "erase_with_company", die_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        company_deletion.run()
    assert not is_erased(company)
    monkeypatch.undo()

    company_deletion.run()

    assert is_erased(company)
    assert rows_naming(PHONE, "channels_message") == rows_naming(OTHER, "channels_message") == 0
    assert company.audit.filter(action="company.erased").count() == 1


def test_run_ends_in_time_and_the_next_goes_on(
    owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_all_data(owner.company)
    company_deletion.run()
    settle(owner.company)
    monkeypatch.setattr(company_deletion, "RUN", 0.0)

    company_deletion.run()

    assert not is_erased(owner.company)
    monkeypatch.undo()
    company_deletion.run()
    assert is_erased(owner.company)


def test_large_company_does_not_hold_up_a_small_one(
    owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = MemberFactory.create(company__closes_at=timezone.now()).company
    for number in range(4):
        MessageFactory.create(company=owner.company, phone=f"+7916000000{number}", state="failed")
    company_deletion.run()
    settle(owner.company)
    settle(other)

    def slowly(person: Person) -> None:
        time.sleep(0.6)
        erase_with_company(person)

    monkeypatch.setattr(company_deletion, "erase_with_company", slowly)
    monkeypatch.setattr(company_deletion, "RUN", 2.0)

    company_deletion.run()

    assert is_erased(other)


def test_short_batches_reach_every_row(owner: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(company_deletion, "BATCH_SIZE", 2)
    monkeypatch.setattr(company_deletion, "LINKS", 2)
    company = owner.company
    for number in range(7):
        MessageFactory.create(company=company, phone=f"+7916000000{number}", state="delivered")
    LinkFactory.create_batch(5, company=company)
    CodeTextFactory.create(company=company)

    delete_whole(company)

    assert not Message.objects.exclude(phone__endswith="*").exists()
    assert not Link.objects.exclude(url="about:blank").exists()


def test_deleting_again_changes_nothing(owner: Member) -> None:
    delete_whole(owner.company)
    before = AuditEvent.objects.count(), Mail.objects.count()

    company_deletion.run()

    assert not company_deletion.delete(owner.company)
    assert (AuditEvent.objects.count(), Mail.objects.count()) == before


@pytest.mark.django_db(transaction=True)
def test_ledger_balances_after_the_deletion_of_a_company() -> None:
    company = CompanyFactory.create(closes_at=timezone.now())
    create_all_data(company)

    before = list(reconciliation.breaches())
    delete_whole(company)

    assert list(reconciliation.breaches()) == before


def test_person_without_a_company_signs_in_to_a_plain_page(owner: Member, client: Client) -> None:
    delete_whole(owner.company)
    client.force_login(owner.user)

    page = client.get(reverse("overview"), follow=True)

    assert page.status_code == 200
    assert page.request["PATH_INFO"] == reverse("company-create")


def test_identity_provider_lets_nobody_back_in(owner: Member) -> None:
    delete_whole(owner.company)

    members.grant(company=owner.company, user=owner.user, role=Member.Role.OWNER)

    assert not Member.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_two_workers_at_once_delete_once() -> None:
    member = MemberFactory.create(company__closes_at=timezone.now())
    company = member.company
    for number in range(6):
        MessageFactory.create(company=company, phone=f"+7916000000{number}", state="delivered")
    LinkFactory.create_batch(3, company=company)

    at_once([company_deletion.run] * 2)
    settle(company)
    at_once([company_deletion.run] * 2)
    company_deletion.run()

    company.refresh_from_db()
    assert company.erased_at is not None
    assert Mail.objects.count() == 1
    for action in ("company.deleted", "company.erased", "links.stopped"):
        assert company.audit.filter(action=action).count() == 1


@pytest.mark.django_db(transaction=True)
def test_keeping_and_deleting_at_once_agree() -> None:
    member = MemberFactory.create(company__closes_at=timezone.now())
    keep = partial(planned_deletion.call_off, company=member.company, user=member.user)

    is_kept, is_deleted = at_once([keep, partial(company_deletion.delete, member.company)])

    company = Company.objects.get()
    assert is_kept != is_deleted
    assert (company.deleted_at is None) is is_kept
    assert company.members.exists() is is_kept
