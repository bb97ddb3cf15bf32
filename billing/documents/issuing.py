"""Issues closing documents of closed months, and invoices for advances with VAT; mails their links.

Each document is a transaction with its number and e-mail. A month waits for missing billing details
of the seller or the buyer.
"""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.audit import record
from accounts.jobs import Job
from accounts.models import AuditEvent, Company, Member, User
from accounts.outbox import mail
from billing.documents import upd_xml
from billing.models import (
    BillingProfile,
    ClosedMonth,
    Document,
    DocumentCounter,
    Order,
    Payment,
    Seller,
    VatRegime,
)
from billing.notifications import RECIPIENT_ROLES
from billing.orders import invoices, vat_rates
from billing.signed_links import DOCUMENTS, LIFETIME
from billing.wallet.period_totals import day_of, local_start_of
from catalogue.ids import uuid7
from catalogue.languages import page_languages
from storage.months.calendar import last_day

MONTHS = Job("closing_documents", _("closing documents"))
ADVANCES = Job("advance_invoices", _("invoices for advances"))
BATCH_SIZE = 500


def issue() -> int:
    """Issues the due documents; returns their number."""
    seller = Seller.objects.first()
    if seller is None or seller.documents_since is None:
        return 0
    due = ClosedMonth.objects.filter(is_due=True).order_by("month", "company_id")
    months = due.select_related("company__billingprofile")
    issued = sum(
        MONTHS.each(
            months, lambda row: 0 if missing_details(row.company) else _issue_month(row.pk, seller)
        )
    )
    advances = ADVANCES.each(
        _advances(seller),
        lambda row: _issue_advance(row.pk, seller) if is_tax_payer(row.company) else 0,
    )
    return int(issued + sum(advances))


def missing_details(company: Company) -> Mapping[str, object]:
    """The missing billing details that prevent documents for this company, by field."""
    try:
        profile = company.billingprofile
    except BillingProfile.DoesNotExist:
        profile = BillingProfile(company=company)
    return profile.missing


@transaction.atomic
def _issue_month(pk: int, seller: Seller) -> int:
    """Issues a document of a month for each currency; returns their number.

    A payment in one currency is no advance for charges in another.
    """
    closed = ClosedMonth.objects.select_for_update().select_related("company").get(pk=pk)
    if not closed.is_due:
        return 0
    by_currency: dict[str, list[dict[str, Any]]] = {}
    for charge in closed.charges:
        if Decimal(charge["amount"]):
            by_currency.setdefault(charge["currency"], []).append(charge)
    issued_on = last_day(closed.month)
    documents = [
        _write(
            Document(
                company=closed.company,
                kind=Document.Kind.CLOSING,
                month=closed.month,
                issued_on=issued_on,
                currency=currency,
            ),
            _document_lines(_with_vat(charges, seller, closed.company, issued_on)),
            seller,
        )
        for currency, charges in sorted(by_currency.items())
    ]
    closed.is_due = False
    closed.save(update_fields=["is_due"])
    send(closed.company, documents)
    return len(documents)


def _advances(seller: Seller) -> list[Order]:
    """Paid orders with VAT and without an invoice for the advance, of companies with an INN."""
    is_payer = seller.vat_rate or VatRegime.objects.exists()
    if not is_payer or seller.documents_since is None:
        return []
    rows = Order.objects.filter(
        vat_rates.is_paid_with_vat(),
        _of_tax_payer(),
        ~Exists(Document.objects.filter(order=OuterRef("pk"))),
        state=Order.State.PAID,
        paid_at__gte=local_start_of(seller.documents_since.replace(day=1)),
    ).select_related("company__billingprofile")
    return list(rows.order_by("paid_at")[:BATCH_SIZE])


def _of_tax_payer() -> Q:
    """The condition that excludes most companies that `is_tax_payer` rejects.

    They would otherwise fill every batch.
    """
    country = Q(company__billingprofile__country="RU")
    country |= Q(company__billingprofile__country="", company__country="RU")
    return country & ~Q(company__billingprofile__inn="")


def is_tax_payer(company: Company) -> bool:
    """Whether the buyer may deduct Russian VAT: it has an INN, and all other details of an
    invoice.
    """
    profile = getattr(company, "billingprofile", None)
    return profile is not None and profile.effective_country == "RU" and not profile.missing


@transaction.atomic
def _issue_advance(pk: UUID, seller: Seller) -> int:
    order = Order.objects.select_for_update(of=("self",), no_key=True).get(pk=pk)
    if Document.objects.filter(order=order).exists() or order.paid_at is None:
        return 0
    paid = order.payments.filter(is_credited=True).first()
    charge = {
        "order": order.pk.hex,
        "tokens": order.tokens,
        "amount": str(paid.amount if paid else order.amount),
        "vat_rate": str(order.vat_rate) if order.vat_rate is not None else None,
    }
    day = day_of(order.paid_at)
    document = Document(
        company=order.company,
        kind=Document.Kind.ADVANCE,
        order=order,
        issued_on=day,
        # The operator may have credited the order for money in another currency.
        currency=paid.currency if paid else order.currency,
    )
    document = _write(
        document, _document_lines(_with_vat([charge], seller, order.company, day)), seller
    )
    send(order.company, [document])
    return 1


def _write(document: Document, lines: list[dict[str, Any]], seller: Seller) -> Document:
    document.lines = lines
    document.tokens = sum(line["tokens"] for line in lines)
    document.amount = sum((Decimal(line["amount"]) for line in lines), Decimal(0))
    taxes = [Decimal(line["vat"]) for line in lines if line["vat"] is not None]
    document.vat = sum(taxes, Decimal(0)) if taxes else None
    profile = BillingProfile.for_company(document.company)
    document.parties = invoices.snapshot_parties(seller, profile)
    # The forms of Russia are in Russian, the default.
    is_home = document.buyer["country"] in {"", vat_rates.HOME}
    document.language = settings.LANGUAGE_CODE if is_home else profile.effective_language
    document.year = document.issued_on.year
    document.serial = DocumentCounter.take(document.year)  # last, because its row stays locked
    document.save(force_insert=True)
    return document


def _with_vat(
    charges: Sequence[Mapping[str, Any]], seller: Seller, company: Company, day: date
) -> list[dict[str, Any]]:
    """The charges with this buyer's rate on that day; without regimes of the seller, the top-up's
    rate.
    """
    profile = BillingProfile.for_company(company)
    charge_rates = [Decimal(row["vat_rate"]) if row["vat_rate"] else None for row in charges]
    rates = [vat_rates.vat_rate(seller, profile, day, without_regime=rate) for rate in charge_rates]
    return [
        {**charge, "vat_rate": str(rate) if rate is not None else None}
        for charge, rate in zip(charges, rates, strict=True)
    ]


def _document_lines(charges: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The lines of the charges, with the invoice and payment of each order for the document."""
    ids = [UUID(hex=charge["order"]) for charge in charges if charge["order"]]
    orders = Order.objects.filter(pk__in=ids).prefetch_related("payments")
    by_id = {order.pk.hex: order for order in orders}
    return [_document_line(charge, by_id.get(charge["order"])) for charge in charges]


def _document_line(charge: Mapping[str, Any], order: Order | None) -> dict[str, Any]:
    amount = Decimal(charge["amount"])
    rate = Decimal(charge["vat_rate"]) if charge["vat_rate"] is not None else None
    tax = vat_rates.vat_part(amount, rate)
    paid = None
    if order is not None:
        paid = next((payment for payment in order.payments.all() if payment.is_credited), None)
    return {
        "order": charge["order"],
        "tokens": charge["tokens"],
        "amount": str(amount),
        "vat_rate": charge["vat_rate"],
        "vat": str(tax) if tax is not None else None,
        "invoice": order.number if order else "",
        "invoice_day": day_of(order.created_at).isoformat() if order and order.number else "",
        "payment": paid.reference if paid else "",
        "payment_day": _payment_day(order, paid),
    }


def _payment_day(order: Order | None, paid: Payment | None) -> str:
    """The bank's day of the payment in ISO 8601, or that of our record; empty if unpaid."""
    if paid and paid.paid_on:
        return paid.paid_on.isoformat()
    return day_of(order.paid_at).isoformat() if order and order.paid_at else ""


SENT = "document.sent"
MAX_SENT_AGAIN = 20  # documents of a company in a day


def url_of(document: Document, kind: str) -> str:
    """A new link; `kind`: pdf or xml."""
    path = reverse("document-file", args=[DOCUMENTS.token(document.pk), kind])
    return f"{settings.PUBLIC_URL}{path}"


@transaction.atomic
def send_again(*, document: Document, user: User, ip: str | None = None) -> None:
    """Sends a document again. Raises ValidationError beyond the limit per day, which exists because
    nobody has confirmed the address for documents.
    """
    company = Company.objects.select_for_update(no_key=True).get(pk=document.company_id)
    a_day_ago = timezone.now() - timedelta(days=1)
    sendings = AuditEvent.objects.filter(company=company, action=SENT, created_at__gt=a_day_ago)
    if sendings.count() >= MAX_SENT_AGAIN:
        raise ValidationError(
            _("%(n)d documents were sent in a day, which is the maximum. Try again tomorrow."),
            params={"n": MAX_SENT_AGAIN},
        )
    send(company, [document], again=True)
    record(SENT, document.number, company=company, user=user, ip=ip)


def send(company: Company, documents: Sequence[Document], *, again: bool = False) -> None:
    """Mails documents to owners, accountants and the address for them; once, or once more on
    request.
    """
    if not documents:
        return
    first = documents[0]
    key = f"documents:{uuid7().hex if again else first.pk.hex}"
    context = {
        "documents": [_links_of(document) for document in documents],
        "days": LIFETIME.days,
        "month": first.month,
        "url": f"{settings.PUBLIC_URL}{reverse('document-list')}",
    }
    mail.post_to_members(
        company=company,
        roles=RECIPIENT_ROLES,
        template="documents",
        context=context,
        kind=mail.NoticeKind.DOCUMENTS,
        key=key,
    )
    profile = BillingProfile.objects.filter(company=company).first()
    if profile and profile.email and not _is_member(company, profile.email):
        mail.post(
            template="documents",
            to=profile.email,
            language=page_languages.nearest(company.language),
            context={"company": company, **context},
            key=f"{key}:documents",
        )


def _links_of(document: Document) -> dict[str, Any]:
    return {
        "document": document,
        "pdf": url_of(document, "pdf"),
        "xml": url_of(document, "xml") if upd_xml.can_render(document) else "",
    }


def _is_member(company: Company, email: str) -> bool:
    members = Member.objects.filter(company=company, role__in=list(RECIPIENT_ROLES))
    return members.filter(user__email__iexact=email, user__is_active=True).exists()
