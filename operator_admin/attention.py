"""Everything that waits for the operator: kinds, rows, and the action for each kind."""

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from billing.gateways import registry as gateways
from billing.models import BankTransfer, Payment, Refund
from billing.wallet.amounts import money
from catalogue.languages import page_languages
from catalogue.texts import StrOrPromise
from channels.models import VendorApproval
from channels.providers.vendors import VENDORS, vendor_of
from channels.vendor_accounts import error_texts
from links.models import Report
from operator_admin.alerts.rules import RULES
from operator_admin.models import Alert
from storage.statements import sql_files
from storage.statements.queries import fetch_tuples, select

_SQL = sql_files.read_several("operator_admin/attention.sql")  # by kind


@dataclass(frozen=True, slots=True)
class Row:
    kind: str
    id: str
    since: datetime
    subject: str
    details: list[str]


Texts = tuple[StrOrPromise, StrOrPromise]  # the subject and details


@dataclass(frozen=True, slots=True)
class Kind:
    title: StrOrPromise
    action: StrOrPromise  # the label of the link
    permission: str  # empty: everyone who may open the admin
    url: Callable[[Row], str]
    tone: str = "due"  # or bad
    texts: Callable[[Row], Texts] = lambda row: (row.subject, "".join(row.details))


def _page_of(model: str) -> Callable[[Row], str]:
    return lambda row: reverse(f"admin:{model}_change", args=[row.id])


def _account_page(row: Row) -> str:
    is_known = vendor_of(row.subject) in VENDORS
    return reverse("admin:vendor", args=[row.subject]) if is_known else reverse("admin:providers")


def _approval(row: Row) -> Texts:
    name, status = row.details
    label = VendorApproval.Status(status).label
    return error_texts.provider_title(row.subject), f"{name} — {label}"


def _payment(row: Row) -> Texts:
    """«Демо · 1 899,99 ₽ вместо 1 900,00 ₽ · Stripe», and the problem."""
    problem, gateway, *sums = row.details
    title = gateways.title(gateway)
    return f"{row.subject} · {_amount_text(*sums)} · {title}", Payment.Problem(problem).label


def _transfer(row: Row) -> Texts:
    problem, *sums = row.details
    label = BankTransfer.Problem(problem).label if problem else ""
    return f"{row.subject} · {_amount_text(*sums)}", label


def _amount_text(amount: str, currency: str, *due: str) -> str:
    arrived_amount = money(Decimal(amount), currency)
    if not due or due == (amount, currency):
        return arrived_amount
    return gettext("%(sum)s instead of %(due)s") % {
        "sum": arrived_amount,
        "due": money(Decimal(due[0]), due[1]),
    }


def _refund(row: Row) -> Texts:
    texts = {
        "unknown": gettext("its payment is not known"),
        "spent": gettext("its tokens were spent"),
    }
    [problem] = row.details
    return row.subject, texts.get(problem) or str(Refund.Problem(problem).label)


KINDS: dict[str, Kind] = {
    "incident": Kind(
        _("Open incident"),
        _("Post an update"),
        "operator_admin.change_incident",
        lambda row: reverse("admin:incident", args=[row.id]),
        "bad",
        lambda row: (json.loads(row.subject)[page_languages.active()], ""),
    ),
    "alert": Kind(_("Alert"), _("What to do"), "", lambda _row: reverse("admin:alerts"), "bad"),
    "approval": Kind(
        _("Template or sender"),
        _("See the account"),
        "channels.view_provideraccount",
        _account_page,
        "bad",
        _approval,
    ),
    "vendor": Kind(
        _("A vendor says"),
        _("See the account"),
        "channels.view_provideraccount",
        _account_page,
        texts=lambda row: (error_texts.provider_title(row.subject), ": ".join(row.details)),
    ),
    "payment": Kind(
        _("Payment to review"),
        _("Settle"),
        "billing.view_payment",
        _page_of("billing_payment"),
        "bad",
        _payment,
    ),
    "transfer": Kind(
        _("Bank transfer to review"),
        _("Settle"),
        "billing.view_banktransfer",
        _page_of("billing_banktransfer"),
        "bad",
        _transfer,
    ),
    "refund": Kind(
        _("Refund or dispute"),
        _("Settle"),
        "billing.view_refund",
        _page_of("billing_refund"),
        "bad",
        _refund,
    ),
    "report": Kind(
        _("Link reported"),
        _("Review the report"),
        "links.view_report",
        _page_of("links_report"),
        "bad",
        lambda row: (row.subject, Report.Reason(row.details[0]).label),
    ),
    "company": Kind(
        _("Company to approve"),
        _("Review and approve"),
        "accounts.change_company",
        lambda row: f"{reverse('admin:company-status', args=['approved'])}?ids={row.id}",
    ),
    "month": Kind(
        _("Month without documents"),
        _("See the month"),
        "billing.view_closedmonth",
        _page_of("billing_closedmonth"),
    ),
}


PAGE_SIZE = 50


@dataclass(frozen=True, slots=True)
class Item:
    kind: Kind
    since: datetime
    subject: StrOrPromise
    detail: StrOrPromise
    url: str


@dataclass(frozen=True, slots=True)
class Count:
    name: str
    title: StrOrPromise
    number: int


def kinds_for(request: HttpRequest) -> list[str]:
    """The kinds that this operator may act on."""
    may = request.user.has_perm
    return [name for name, kind in KINDS.items() if not kind.permission or may(kind.permission)]


def counts(kinds: Collection[str]) -> list[Count]:
    if not kinds:
        return []
    statement = f"SELECT kind, count(*) FROM ({_union(kinds)}) waiting GROUP BY kind"  # noqa: S608 - of constants
    numbers: dict[str, int] = dict(fetch_tuples(statement))
    return [Count(name, KINDS[name].title, numbers[name]) for name in kinds if name in numbers]


def page(kinds: Collection[str], number: int) -> list[Item]:
    """The items of a page, oldest first, and one more if there is a next page."""
    if not kinds:
        return []
    statement = f"""
    SELECT kind, id, since, subject, details FROM ({_union(kinds)}) waiting
    ORDER BY since, kind, id LIMIT %s OFFSET %s
    """  # noqa: S608 - of constants
    rows = select(Row, statement, [PAGE_SIZE + 1, number * PAGE_SIZE])
    alerts = _alerts(rows)
    return [_item_of(row, alerts) for row in rows]


def _union(kinds: Collection[str]) -> str:
    columns = "id, since, subject, details"
    return " UNION ALL ".join(
        f"SELECT '{name}' AS kind, * FROM ({_SQL[name]}) AS {name}({columns})"  # noqa: S608
        for name in kinds
    )


def _alerts(rows: list[Row]) -> dict[str, Alert]:
    ids = [int(row.id) for row in rows if row.kind == "alert"]
    return {str(alert.pk): alert for alert in Alert.objects.filter(pk__in=ids)} if ids else {}


def _item_of(row: Row, alerts: dict[str, Alert]) -> Item:
    kind = KINDS[row.kind]
    subject, detail = kind.texts(row)
    if alert := alerts.get(row.id) if row.kind == "alert" else None:
        subject = alert.rule
        detail = alert.subject
        if alert.rule in RULES:
            subject, detail, _remedy = RULES[alert.rule].texts_of(alert)
    return Item(kind, row.since, subject, detail, kind.url(row))
