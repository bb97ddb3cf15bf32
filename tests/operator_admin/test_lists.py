"""Lists of the admin: their pages, order, filters and columns."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib import admin
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import Company, User
from api import pagination
from billing.models import Transfer
from catalogue.ids import request_id, uuid7
from channels.models import Attempt, Message, ProviderAccount, Receipt
from tests.factories import (
    AttemptFactory,
    CodeTextFactory,
    CompanyFactory,
    MessageFactory,
    OrderFactory,
    ReceiptFactory,
    TransferFactory,
    VerificationFactory,
)
from tests.odd_values.values import FIRST_ID, LAST_ID

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("operator")]
MESSAGES = "admin:channels_message_changelist"


def rows(client: Client, **query: Any) -> list[Any]:
    changes: Any = client.get(reverse(MESSAGES), query).context["cl"]
    return list(changes.result_list)


def test_pages_follow_one_another_without_gap_or_repeat(client: Client) -> None:
    made = [message.pk for message in MessageFactory.create_batch(120)]
    seen = []
    query = ""
    for _ in range(3):
        changes: Any = client.get(reverse(MESSAGES) + query).context["cl"]
        seen += [row.pk for row in changes.result_list]
        query = changes.older_url()

    assert seen == sorted(made, reverse=True)
    assert changes.older is None


def test_new_rows_move_no_page(client: Client) -> None:
    MessageFactory.create_batch(60)
    first: Any = client.get(reverse(MESSAGES)).context["cl"]
    query = first.older_url()
    before = [row.pk for row in client.get(reverse(MESSAGES) + query).context["cl"].result_list]

    MessageFactory.create_batch(5)

    after = [row.pk for row in client.get(reverse(MESSAGES) + query).context["cl"].result_list]
    assert after == before


def test_equal_times_are_ordered_by_key(client: Client) -> None:
    at = timezone.now()
    made = AttemptFactory.create_batch(60)
    for attempt in made:
        attempt.started_at = at
        attempt.save()
    address = reverse("admin:channels_attempt_changelist")
    first: Any = client.get(address).context["cl"]
    second: Any = client.get(address + first.older_url()).context["cl"]

    seen = [row.pk for row in [*first.result_list, *second.result_list]]
    assert sorted(seen) == sorted(attempt.pk for attempt in made)


@pytest.mark.parametrize("after", ["x", "1", "0192f0c1-0000-7000-8000-000000000000"])
def test_key_of_no_row_is_the_first_page(client: Client, after: str) -> None:
    message = MessageFactory.create()

    assert rows(client, after=after) == [message]


def test_nothing_is_counted(client: Client, django_assert_num_queries: Any) -> None:
    MessageFactory.create_batch(3)

    # Session, user, rows, seller, what waits for the operator; it was seen.
    with django_assert_num_queries(6) as asked:
        client.get(reverse(MESSAGES))

    counting = [
        query["sql"] for query in asked.captured_queries if "COUNT(" in query["sql"].upper()
    ]
    assert [sql for sql in counting if ") waiting GROUP BY kind" not in sql] == []


def test_since_finds_the_young_by_their_keys(client: Client) -> None:
    young = MessageFactory.create()
    old = MessageFactory.create()
    at = timezone.now() - timedelta(hours=2)
    shift = (int(at.timestamp() * 1000) << 80) | (old.pk.int & ((1 << 80) - 1))
    Message.objects.filter(pk=old.pk).update(id=uuid7().__class__(int=shift), created_at=at)

    assert [row.pk for row in rows(client, since="hour")] == [young.pk]
    assert len(rows(client, since="day")) == 2


WHOLE = ("+79161234567", "8 (916) 123-45-67", "89161234567", "7 916 123 45 67", "0079161234567")
PARTS = ("+7916", "7 916 12", "79161234", "9161234567", "916123", "8 916 123", "9161234")


@pytest.mark.parametrize("typed", WHOLE + PARTS)
def test_phone_is_found_in_any_spelling(client: Client, typed: str) -> None:
    wanted = MessageFactory.create(phone="+79161234567")
    MessageFactory.create(phone="+79171234567")
    MessageFactory.create(phone="+79151234567")

    assert rows(client, q=typed) == [wanted]


def test_beginning_of_nines_is_found(client: Client) -> None:
    wanted = MessageFactory.create(phone="+99999123456")
    MessageFactory.create(phone="+79161234567")

    assert rows(client, q="+999") == [wanted]


def test_message_is_found_by_every_id_it_is_known_by(client: Client) -> None:
    request = request_id()
    attempt = AttemptFactory.create(message__request_id=request, provider_id="SM0123456789")
    MessageFactory.create()
    message = attempt.message
    known_by = [
        message.public_id,
        str(message.pk),
        message.subject_id.hex,
        request,
        "SM0123456789",
        str(attempt.pk),
    ]

    assert [rows(client, q=query) for query in known_by] == [[message]] * len(known_by)


def test_vendors_number_is_found_though_it_looks_like_a_phone(client: Client) -> None:
    attempt = AttemptFactory.create(provider="telegram_gateway", provider_id="123456789012")

    assert rows(client, q="123456789012") == [attempt.message]


def test_attempts_are_found_by_phone(client: Client) -> None:
    attempt = AttemptFactory.create(message__phone="+79161234567")
    AttemptFactory.create(message__phone="+79171234567")

    response: Any = client.get(reverse("admin:channels_attempt_changelist"), {"q": "89161234567"})

    assert list(response.context["cl"].result_list) == [attempt]


@pytest.mark.parametrize(
    "nothing", ["msg_", "req_zzz", FIRST_ID, LAST_ID, "нет", "'; --", "+", "+7 000"]
)
def test_unknown_search_terms_find_nothing(client: Client, nothing: str) -> None:
    MessageFactory.create()

    assert rows(client, q=nothing) == []


def attempt_of(receipt: Receipt) -> Attempt:
    assert receipt.attempt is not None
    return receipt.attempt


def test_message_page_shows_the_timeline_and_no_code(client: Client) -> None:
    raw = b'{"statuses": [{"id": "wamid.1", "code": "482915", "status": "delivered"}]}'
    receipt = ReceiptFactory.create(raw=raw, vendor_status="delivered")
    message = attempt_of(receipt).message
    transfer = TransferFactory.create(
        company=message.company, message_id=message.pk, kind="hold", amount=1
    )

    page = client.get(reverse("admin:channels_message_change", args=[message.pk])).content.decode()

    assert "wamid.1" in page
    assert "••••" in page
    assert "482915" not in page
    assert str(Transfer.Kind.HOLD.label) in page
    assert reverse("admin:billing_transfer_change", args=[transfer.pk]) in page


def test_receipts_of_a_form_are_legible(client: Client) -> None:
    receipt = ReceiptFactory.create(raw=b"MessageSid=SM1&MessageStatus=delivered&Body=Code+482915")

    page = client.get(reverse("admin:channels_receipt_change", args=[receipt.pk])).content.decode()

    assert "MessageStatus = delivered" in page
    assert "482915" not in page


def test_timeline_query_count_is_constant(
    client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    message = attempt_of(ReceiptFactory.create()).message
    address = reverse("admin:channels_message_change", args=[message.pk])
    with django_assert_max_num_queries(25) as short:
        client.get(address)
    for n in (2, 3):
        ReceiptFactory.create(attempt=AttemptFactory.create(message=message, n=n, state="failed"))

    with django_assert_max_num_queries(len(short)):
        client.get(address)


def test_operator_reads_what_companies_write(client: Client) -> None:
    text = CodeTextFactory.create(body="{code} — особый")
    address = reverse("admin:otp_codetext_changelist")

    body = client.get(address, {"q": "особый"}).content.decode()
    empty = client.get(address, {"q": "обычный"}).content.decode()

    assert (text.body in body, text.body in empty) == (True, False)


def pages(client: Client, address: str, query: str) -> list[list[Any]]:
    """The rows of each page, from the newest to the oldest."""
    result = []
    for _ in range(20):
        changes: Any = client.get(address + query).context["cl"]
        result.append(list(changes.result_list))
        if changes.older is None:
            return result
        query = changes.older_url()
    raise AssertionError("the pages do not end")


def test_rare_filter_scans_part_of_table(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pagination, "SCANS", (10, 20))
    rare = MessageFactory.create(channel="telegram")
    MessageFactory.create_batch(50, channel="sms")

    result = pages(client, reverse(MESSAGES), "?channel__exact=telegram")
    first: Any = client.get(reverse(MESSAGES), {"channel__exact": "telegram"})

    assert result == [[], [], [rare]]
    assert "Просмотрено строк: 20" in first.content.decode()


def test_filtered_pages_have_every_row_once(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pagination, "SCANS", (10, 70))
    made = AttemptFactory.create_batch(130, state="failed")
    AttemptFactory.create_batch(60, state="sent")
    address = reverse("admin:channels_attempt_changelist")

    pks = [row.pk for page in pages(client, address, "?state__exact=failed") for row in page]

    assert len(pks) == len(made)
    assert {*pks} == {failed.pk for failed in made}


def test_search_by_index_finds_the_oldest_row(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pagination, "SCANS", (1, 2))
    wanted = MessageFactory.create(phone="+79161234567")
    MessageFactory.create_batch(5, phone="+79171234567")

    assert rows(client, q="+79161234567") == [wanted]


@pytest.mark.parametrize("spelling", ["msg_{0.hex}", "{0}", " {0} "])
def test_transfers_are_found_by_their_message(
    client: Client, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    monkeypatch.setattr(pagination, "SCANS", (1, 2))
    wanted = TransferFactory.create(message_id=uuid7(), kind="hold", hold=1)
    for _ in range(5):
        TransferFactory.create()

    address = reverse("admin:billing_transfer_changelist")
    response: Any = client.get(address, {"q": spelling.format(wanted.message_id)})

    assert list(response.context["cl"].result_list) == [wanted]


def test_codes_are_found_by_the_phone_of_their_message(client: Client) -> None:
    code = VerificationFactory.create(phone="+79161234567")
    VerificationFactory.create(phone="+79171234567")
    MessageFactory.create(phone="+79161234567", subject_id=code.pk)

    response: Any = client.get(reverse("admin:otp_verification_changelist"), {"q": "89161234567"})

    assert list(response.context["cl"].result_list) == [code]


def test_waiting_rows_come_first_without_repeats(client: Client) -> None:
    made = OrderFactory.create_batch(70, state="expired")
    waiting = [
        OrderFactory.create(state="pending", invoice_year=2026, invoice_number=number)
        for number in range(60)
    ]
    made += OrderFactory.create_batch(20, state="pending")

    result = pages(client, reverse("admin:billing_order_changelist"), "")
    keys = [row.pk for page in result for row in page]

    newest_first = [sorted((order.pk for order in rows), reverse=True) for rows in (waiting, made)]
    assert keys == [*newest_first[0], *newest_first[1]]
    assert [len(page) for page in result] == [50, 50, 50]


@pytest.mark.parametrize("after", ["urgent-", "urgent-x", "x", "7"])
def test_invalid_list_position_shows_first_page(client: Client, after: str) -> None:
    order = OrderFactory.create(state="expired")

    shown: Any = client.get(reverse("admin:billing_order_changelist"), {"after": after})

    assert list(shown.context["cl"].result_list) == [order]


@pytest.mark.parametrize("how", ["name", "number", "key"])
def test_transfers_are_found_by_their_company_or_key(client: Client, how: str) -> None:
    wanted = TransferFactory.create(company__name="Ромашка", key="demo:42")
    TransferFactory.create(company__name="Василёк", key="other")
    text = {"name": "ромаш", "number": str(wanted.company_id), "key": "demo:"}[how]

    response: Any = client.get(reverse("admin:billing_transfer_changelist"), {"q": text})

    assert list(response.context["cl"].result_list) == [wanted]


def test_phone_prefix_search_scans_part_of_table(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pagination, "SCANS", (1, 2))
    wanted = MessageFactory.create(phone="+79161234567")
    MessageFactory.create_batch(3, phone="+79171234567")

    assert pages(client, reverse(MESSAGES), "?q=%2B7916")[:2] == [[], [wanted]]


SECRET: dict[type[Model], tuple[str, ...]] = {
    ProviderAccount: ("credentials",),
    User: ("password", "session_generation"),
}
HIDDEN = [
    (model, name)
    for model, page in admin.site._registry.items()
    for name in sorted({*(page.exclude or ()), *SECRET.get(model, ())})
    if name not in [each[0] for each in page.list_filter if isinstance(each, tuple)]
]


@pytest.mark.parametrize(("model", "name"), HIDDEN)
@pytest.mark.parametrize("lookup", ["startswith", "contains", "regex", "isnull"])
def test_filters_on_hidden_columns_are_refused(
    client: Client, model: type[Model], name: str, lookup: str
) -> None:
    """A receipt may have a code, which its page masks."""
    page = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")

    assert client.get(page, {f"{name}__{lookup}": "1"}).status_code == 400


@pytest.mark.parametrize(
    "address", [f"channels_message?created_at__year={10**20}", "accounts_auditevent?ip__exact=x"]
)
def test_value_that_cannot_be_leads_to_the_whole_list(client: Client, address: str) -> None:
    name, _, query = address.partition("?")
    url = reverse(f"admin:{name}_changelist")

    assert client.get(f"{url}?{query}").headers["Location"] == f"{url}?e=1"


def test_there_are_hidden_columns() -> None:
    assert (Receipt, "raw") in HIDDEN


@pytest.mark.parametrize(
    ("language", "text"), [("ru", "06.03.2026, 15:04"), ("en", "6 Mar 2026, 15:04")]
)
def test_list_and_own_pages_write_the_same_moment(client: Client, language: str, text: str) -> None:
    company = CompanyFactory.create(status="pending")
    Company.objects.update(created_at=datetime(2026, 3, 6, 12, 4, tzinfo=UTC))
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = language

    for name, args in (
        ("admin:index", []),
        ("admin:attention", []),
        ("admin:accounts_company_changelist", []),
        ("admin:accounts_company_change", [company.pk]),
    ):
        assert text in client.get(reverse(name, args=args)).content.decode(), name
