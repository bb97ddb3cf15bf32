"""An invoice: its number, the parties at the time of the order, line, tax and payment QR code."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from django.conf import settings
from django.utils import timezone, translation
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from accounts.models import Company
from accounts.people import countries
from billing import billing_details
from billing.models import BillingProfile, InvoiceCounter, Order, Seller
from billing.orders import vat_rates
from billing.wallet import amounts

SELLER_FIELDS = (
    *("name", "inn", "kpp", "address", "bank_name", "bic", "account", "corr_account"),
    *("head", "accountant", "details_abroad", "edo_id"),
)
BUYER_FIELDS = ("inn", "kpp", "address", "edo_id")
Party = dict[str, str]


@dataclass(frozen=True, slots=True)
class Document:
    """An invoice in its language, for the page and the PDF."""

    order: Order
    title: str
    line: str
    price: str
    total: str
    vat: str
    note: str  # reverse charge; usually empty
    words: str  # the sum in words, on Russian invoices only
    purpose: str
    seller: Party
    supplier: str  # each party in one line
    customer: str
    code: str  # QR payload for bank apps; empty without one

    @property
    def is_abroad(self) -> bool:
        """Whether it is paid to the seller's account for payers abroad."""
        is_home = self.order.parties.get("buyer", {}).get("country") == vat_rates.HOME
        return (
            not is_home
            and self.order.language != settings.LANGUAGE_CODE
            and bool(self.seller.get("details_abroad"))
        )


def snapshot_parties(seller: Seller | None, profile: BillingProfile) -> dict[str, Party]:
    """Copies both parties into the order, so that later changes do not alter the invoice."""
    seller_fields = {name: getattr(seller, name) for name in SELLER_FIELDS} if seller else {}
    return {"seller": seller_fields, "buyer": buyer(profile)}


def buyer(profile: BillingProfile) -> Party:
    country = profile.effective_country
    party = {"name": profile.legal_name or profile.company.name, "country": country}
    party |= {field: getattr(profile, field) for field in BUYER_FIELDS}
    vat_id = billing_details.vat_id(country, profile.inn)
    return party | {"vat_id": vat_id} if vat_id else party


def assign_number(order: Order) -> None:
    """Takes the year's next number in the caller's transaction: a rollback leaves no gap."""
    order.invoice_year = timezone.localdate().year
    order.invoice_number = InvoiceCounter.take(order.invoice_year)


def update_open_invoices(company: Company) -> int:
    """Copies the buyer's new billing details into open invoices, with the resulting tax and
    language; returns the count.
    """
    profile = BillingProfile.for_company(company)
    current = buyer(profile)
    seller = Seller.objects.first()
    rows = Order.objects.for_company(company).open().invoices().order_by("pk")
    invoices = list(rows.select_for_update(no_key=True))  # waits for payments in progress
    for order in invoices:
        day = timezone.localtime(order.created_at).date()
        order.parties["buyer"] = current
        order.vat_rate = rate_of(seller, profile, day)
        order.language = profile.effective_language
    return Order.objects.bulk_update(invoices, ["parties", "vat_rate", "language"])


def rate_of(seller: Seller | None, profile: BillingProfile, day: date) -> Decimal | None:
    """The VAT of an order placed on a day."""
    rate = seller.vat_rate if seller else None
    return vat_rates.vat_rate(seller, profile, day, without_regime=rate)


def document(order: Order) -> Document:
    with translation.override(order.language):
        day = timezone.localtime(order.created_at).date()
        tax = _vat(order)
        purpose = _("Payment of invoice %(number)s of %(date)s for Kvitok tokens. %(vat)s") % {
            "number": order.number,
            "date": f"{day:%d.%m.%Y}",
            "vat": tax,
        }
        purpose = _for_banks(purpose)
        seller: Party = order.parties.get("seller", {})
        return Document(
            order=order,
            title=_("Invoice No. %(number)s of %(date)s")
            % {"number": order.number, "date": date_format(day, pgettext("invoice", "j E Y"))},
            line=_("Tokens of the Kvitok service"),
            price=amounts.unit_price(order.amount / order.tokens, order.currency),
            total=amounts.money(order.amount, order.currency),
            vat=tax,
            note=vat_rates.reverse_charge_note(
                order.parties.get("buyer", {}), has_vat=order.vat_rate is not None
            ),
            words=_amount_in_words(order),
            purpose=purpose,
            seller=seller,
            supplier=_party_line(seller),
            customer=_party_line(order.parties.get("buyer", {})),
            code=_qr_payload(order, seller, purpose) if order.is_open else "",
        )


def _vat(order: Order) -> str:
    part = vat_rates.vat_part(order.amount, order.vat_rate)
    if part is None:
        return _("VAT not applicable")
    rate = f"{order.vat_rate:f}".rstrip("0").rstrip(".")
    return _("Including VAT %(rate)s%%: %(part)s") % {
        "rate": rate,
        "part": amounts.money(part, order.currency),
    }


def _amount_in_words(order: Order) -> str:
    is_russian = order.language == settings.LANGUAGE_CODE and order.currency == "RUB"
    return amounts.in_words(order.amount) if is_russian else ""


def _for_banks(text: str) -> str:
    """Banks' systems accept neither currency signs nor non-breaking spaces."""
    return text.replace("\u00a0", " ").replace("₽", "руб.")


def _qr_payload(order: Order, seller: Party, purpose: str) -> str:
    """ГОСТ Р 56042-2014: required fields first, in this order; the sum in kopecks."""
    if order.language != settings.LANGUAGE_CODE or order.currency != "RUB" or not seller.get("bic"):
        return ""
    fields = {
        "Name": seller["name"][:160],
        "PersonalAcc": seller["account"],
        "BankName": seller["bank_name"][:45],
        "BIC": seller["bic"],
        "CorrespAcc": seller["corr_account"],
        "Sum": str(int(order.amount * 100)),
        "Purpose": purpose[:210],
        "PayeeINN": seller["inn"],
        "KPP": seller["kpp"],
    }
    pairs = (f"{name}={text.replace('|', ' ')}" for name, text in fields.items() if text)
    return "|".join(("ST00012", *pairs))


def _party_line(party: Party) -> str:
    parts = [party.get("name", "")]
    country = party.get("country", "RU")  # sellers, and the buyers of old orders, are Russian
    tax_number = billing_details.tax_number_name(country)
    parts += [f"{tax_number} {party['inn']}"] if party.get("inn") else []
    parts += [f"{_('KPP')} {party['kpp']}"] if party.get("kpp") else []
    parts += [party["address"]] if party.get("address") else []
    parts += [countries.name(country)] if country != "RU" else []
    return ", ".join(parts)
