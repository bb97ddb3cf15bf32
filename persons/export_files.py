"""The files of a company's export, with their rows and columns.

Times are ISO 8601 in UTC, tokens integers, amounts decimal strings; lists and objects are JSON.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any
from uuid import UUID

import orjson
from django.db.models import Model, QuerySet
from django.utils.translation import gettext_lazy as _

from accounts.models import ApiKey, AuditEvent, Company, Member, Mode
from billing.models import BillingProfile, Budget, Document, Order, Payment, Transfer
from catalogue.texts import StrOrPromise
from channels.models import Message, stored_fields
from identity_hooks.models import Hook
from links.models import Link
from otp.models import Autofill, CodeText, Verification
from webhooks.models import Endpoint

Row = Any
Columns = Mapping[str, Callable[[Row], object]]


def _columns_named(names: str) -> Columns:
    """Columns named like the attributes that they contain."""
    return {name: attrgetter(name) for name in names.split()}


def _load_nothing(_rows: Sequence[Row]) -> None:
    pass


@dataclass(frozen=True, slots=True)
class ExportFile:
    name: str
    about: StrOrPromise
    rows_of: Callable[[Company], QuerySet[Any]]
    columns: Columns
    load: Callable[[Sequence[Row]], None] = _load_nothing  # loads related data for a page of rows

    def cells(self, rows: Sequence[Row], *, with_heading: bool) -> Iterator[list[str | int]]:
        self.load(rows)
        if with_heading:
            yield list(self.columns)
        for row in rows:
            yield [_cell(value_of(row)) for value_of in self.columns.values()]


def _cell(value: object) -> str | int:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    if isinstance(value, list | dict):
        return orjson.dumps(value, default=str).decode()
    return value if isinstance(value, int) else str(value)


def _load_codes(rows: Sequence[Message]) -> None:
    """Loads the code of each message in one query."""
    ids = {row.subject_id for row in rows if row.kind == "code"}
    codes: dict[UUID, Verification] = Verification.objects.in_bulk(ids)
    for row in rows:
        row.code = codes.get(row.subject_id)  # type: ignore[attr-defined]  # read below


def _code_column(name: str) -> Callable[[Row], object]:
    return lambda row: getattr(row.code, name) if row.code else None


def _email(user: Any) -> str:
    return user.email if user else ""


MESSAGE: Columns = {
    "id": attrgetter("public_id"),
    **_columns_named(
        "kind phone channel state error locale created_at sent_at delivered_at finished_at"
    ),
    "tokens": attrgetter("price"),
    "segments": attrgetter("segments"),
    "text": lambda row: row.params.get("text", ""),
    **_columns_named(" ".join(stored_fields.NAMES)),
    "metadata": lambda row: row.params.get("metadata"),
    "request_id": attrgetter("request_id"),
    "api_key_id": attrgetter("api_key_id"),
    "code_purpose": _code_column("purpose"),
    "code_attempts": _code_column("attempts"),
    "code_expires_at": _code_column("expires_at"),
    "code_verified_at": _code_column("verified_at"),
    "code_binding": _code_column("binding"),
}
LINK: Columns = {
    "id": attrgetter("public_id"),
    **_columns_named("slug url utm expired_url created_at expires_at disabled_at is_once used_at"),
    **_columns_named("clicks previews scanners first_click_at last_click_at"),
    "batch": attrgetter("batch"),
}


def _messages(mode: str) -> Callable[[Company], QuerySet[Any]]:
    return lambda company: Message.objects.filter(company=company, mode=mode)


def _links(mode: str) -> Callable[[Company], QuerySet[Any]]:
    return lambda company: Link.objects.filter(company=company, mode=mode)


FILES = (
    ExportFile(
        "members.csv",
        _("Members now, with their roles."),
        lambda company: Member.objects.filter(company=company).select_related("user"),
        {
            "email": lambda row: row.user.email,
            "name": lambda row: row.user.name,
            **_columns_named("role created_at"),
        },
    ),
    ExportFile(
        "keys.csv",
        _("API keys without the keys themselves, which are not stored."),
        lambda company: ApiKey.objects.filter(company=company).select_related("created_by"),
        {
            **_columns_named("id name mode prefix last4 scopes purpose allowed_ips day_limit"),
            "created_by": lambda row: _email(row.created_by),
            **_columns_named("created_at expires_at revoked_at last_used_at"),
        },
    ),
    ExportFile(
        "webhooks.csv",
        _("Webhook addresses, without their secrets."),
        lambda company: Endpoint.objects.filter(company=company),
        {
            "id": attrgetter("public_id"),
            **_columns_named(
                "mode url kinds description created_at disabled_at disabled_reason deleted_at"
            ),
        },
    ),
    ExportFile(
        "identity-servers.csv",
        _("Connections of identity servers, without their secrets and addresses."),
        lambda company: Hook.objects.filter(company=company).select_related("created_by"),
        {
            **_columns_named("id kind name mode purpose channels allowed_ips code_length mapping"),
            "created_by": lambda row: _email(row.created_by),
            **_columns_named("created_at revoked_at last_used_at"),
        },
    ),
    ExportFile(
        "messages-live.csv",
        _("Messages of live keys, with the outcome of the code that each carried."),
        _messages(Mode.LIVE),
        MESSAGE,
        _load_codes,
    ),
    ExportFile(
        "messages-test.csv", _("The same of test keys."), _messages(Mode.TEST), MESSAGE, _load_codes
    ),
    ExportFile(
        "links-live.csv",
        _("Short links of live keys, with counts of their clicks."),
        _links(Mode.LIVE),
        LINK,
    ),
    ExportFile("links-test.csv", _("The same of test keys."), _links(Mode.TEST), LINK),
    ExportFile(
        "ledger.csv",
        _("The ledger: every movement of tokens that is not archived yet."),
        lambda company: Transfer.objects.filter(company=company),
        {
            **_columns_named("id kind amount proof reason created_at"),
            "message_id": lambda row: f"msg_{row.message_id.hex}" if row.message_id else "",
        },
    ),
    ExportFile(
        "orders.csv",
        _(
            "Top-ups and invoices. Their PDFs are made when they are opened: take them in the "
            "cabinet."
        ),
        lambda company: Order.objects.filter(company=company).select_related("created_by"),
        {
            "id": attrgetter("public_id"),
            **_columns_named(
                "tokens amount currency vat_rate gateway state invoice_year invoice_number"
            ),
            "parties": attrgetter("parties"),
            "created_by": lambda row: _email(row.created_by),
            **_columns_named("created_at expires_at paid_at finished_at"),
        },
    ),
    ExportFile(
        "payments.csv",
        _("Payments of the top-ups."),
        lambda company: Payment.objects.filter(order__company=company).select_related("order"),
        {
            "order_id": lambda row: row.order.public_id,
            **_columns_named(
                "gateway payment_id amount currency is_credited reference paid_on created_at"
            ),
        },
    ),
    ExportFile(
        "documents.csv",
        _("Closing documents and invoices for advances, as issued."),
        lambda company: Document.objects.filter(company=company),
        _columns_named(
            "id kind year serial issued_on month tokens amount vat currency language lines parties "
            "created_at"
        ),
    ),
    ExportFile(
        "audit.csv",
        _("The audit log, with old and new values."),
        lambda company: AuditEvent.objects.filter(company=company),
        {
            **_columns_named("id created_at"),
            "actor": lambda event: "operator" if event.by_operator else event.actor,
            **_columns_named("action subject changes"),
            "ip": attrgetter("ip_shown"),
        },
    ),
)


def _fields_of(model: type[Model], without: Collection[str]) -> list[str]:
    names = (field.name for field in model._meta.fields)  # noqa: SLF001 - public in Django
    return [name for name in names if name not in without]


# Settings of the operator, values exported elsewhere or temporary, and the state of the deletion.
_NO_SETTINGS = frozenset(
    {"id", "api_rate", "budgets", "guard_restrictions", "closes_at", "deleted_at", "erased_at"}
)
SETTINGS = _fields_of(Company, without=_NO_SETTINGS)
BILLING_DETAILS = _fields_of(BillingProfile, without=("company", "low_balance_notified_at"))


def settings_json(company: Company) -> bytes:
    """The current settings, policy, budgets, texts and billing details."""
    content = {
        "settings": {name: getattr(company, name) for name in SETTINGS},
        "budgets": list(Budget.objects.filter(company=company).values("country", "fixed_tokens")),
        "texts": list(
            CodeText.objects.filter(company=company)
            .order_by("pk")
            .values("purpose", "channel", "locale", "body", "changed_at")
        ),
        "autofill": list(
            Autofill.objects.filter(company=company).values("webotp_host", "app_hash")
        ),
        "billing_details": list(
            BillingProfile.objects.filter(company=company).values(*BILLING_DETAILS)
        ),
    }
    return orjson.dumps(content, default=str, option=orjson.OPT_INDENT_2 | orjson.OPT_UTC_Z)
