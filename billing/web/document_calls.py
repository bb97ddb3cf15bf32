"""GET /documents, declared."""

from django.conf import settings
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.models import Scope
from api.calls import (
    CURSOR,
    LIMIT,
    Call,
    Field,
    Shape,
    choice,
    identifier,
    integer,
    nullable,
    page_of,
    text,
)
from billing.documents import issuing, upd_xml
from billing.models import Document
from catalogue.errors import Error

DOCUMENT = Shape(
    "Document",
    (
        Field(
            "id",
            identifier("doc"),
            _("The document's id."),
            "doc_0192f0c1a6de7c6d9e7f809102132435",
            source="public_id",
        ),
        Field(
            "kind",
            choice(list(Document.Kind.values), "DocumentKind"),
            _("`closing`: the act of a month; `advance`: an invoice for an advance with VAT."),
            Document.Kind.CLOSING.value,
        ),
        Field("number", text(), _("The document's number."), "2026-17"),
        Field(
            "issued_on",
            text(format="date"),
            _("The document's date; a closing document has the last day of its month."),
            "2026-10-31",
            source=lambda document: document.issued_on.isoformat(),
        ),
        Field(
            "month",
            nullable(text(pattern=r"^\d{4}-\d{2}$")),
            _("The month that it closes; `null` for an advance."),
            "2026-10",
            source=lambda document: f"{document.month:%Y-%m}" if document.month else None,
        ),
        Field("tokens", integer(1), _("The number of tokens."), 1204),
        Field(
            "amount",
            text(pattern=r"^\d+\.\d{2}$"),
            _("The sum with VAT, as a decimal string."),
            "2287.60",
            source=lambda document: str(document.amount),
        ),
        Field(
            "vat",
            nullable(text(pattern=r"^\d+\.\d{2}$")),
            _("The VAT in it; `null` if none applies."),
            "412.52",
            source=lambda document: None if document.vat is None else str(document.vat),
        ),
        Field(
            "currency",
            text(pattern="^[A-Z]{3}$"),
            _("The currency, as an ISO 4217 code."),
            settings.CURRENCY,
        ),
        Field(
            "pdf_url",
            text(format="uri"),
            _(
                "The document as PDF. The link needs no key and works for 30 days: treat it as the "
                "document."
            ),
            f"{settings.PUBLIC_URL}/documents/0192f0c1….pdf",
            source=lambda document: issuing.url_of(document, "pdf"),
        ),
        Field(
            "xml_url",
            nullable(text(format="uri")),
            _(
                "The document in the format of the Russian tax service (UPD 5.03), unsigned; "
                "`null` if a party has no Russian tax number."
            ),
            f"{settings.PUBLIC_URL}/documents/0192f0c1….xml",
            source=lambda document: (
                issuing.url_of(document, "xml") if upd_xml.is_possible(document) else None
            ),
        ),
    ),
)
LIST_DOCUMENTS = Call(
    "GET",
    "/documents",
    "listDocuments",
    pgettext_lazy("API call", "Documents"),
    _("Lists the closing documents of months and the invoices for advances, as issued."),
    Scope.BALANCE,
    message=_("Documents"),
    query=(LIMIT, CURSOR),
    answer=page_of(DOCUMENT, _("The documents, newest first.")),
    refusals=(Error.INVALID_INPUT,),
)
