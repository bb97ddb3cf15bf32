"""Declares GET /balance, /seals and /documents, and the calls of /top-up."""

from dataclasses import replace

from django.conf import settings
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.models import Scope
from api.calls import (
    CURSOR,
    LIMIT,
    Call,
    Field,
    Shape,
    array,
    choice,
    identifier,
    integer,
    moment,
    nullable,
    option,
    page_of,
    text,
    time,
)
from billing.documents import issuing, upd_xml
from billing.models import Document, Order
from billing.signed_links import LIFETIME
from catalogue.errors import Error
from catalogue.texts import StrOrPromise

STATE_TEXTS: dict[str, StrOrPromise] = {
    Order.State.CREATED: _("The top-up is being prepared"),
    Order.State.PENDING: _("The top-up is waiting for payment"),
    Order.State.PAID: _("The top-up is paid"),
    Order.State.CANCELED: _("The top-up is canceled"),
    Order.State.EXPIRED: _("The time to pay is over"),
}

GET_BALANCE = Call(
    "GET",
    "/balance",
    "getBalance",
    _("Balance"),
    _("Returns the tokens available to spend and the tokens held for messages in progress."),
    Scope.BALANCE,
    message=_("Token balance"),
    response=Shape(
        "Balance",
        (
            Field("available", integer(0), _("Tokens available to spend."), 985),
            Field("held", integer(0), _("Tokens held for messages in progress."), 1),
        ),
    ),
)

MONTH = "month"
DAY = "day"
PERIOD = Field(
    "period",
    choice([MONTH, DAY], "SealPeriod"),
    _("`month`: the last head of each sealed month (default); `day`: of each day."),
    required=False,
)
SEAL = Shape(
    "Seal",
    (
        Field(
            "day",
            text(format="date"),
            _("The UTC day that the head seals: the last one with operations in its month."),
            "2026-10-31",
            source=lambda seal: seal.day.isoformat(),
        ),
        Field(
            "transfers",
            integer(1),
            _("The number of operations since the beginning, holds and releases included."),
            1204,
        ),
        Field(
            "balance", integer(), _("All tokens at the end of the day, available and held."), 986
        ),
        Field(
            "head",
            text(pattern="^[0-9a-f]{64}$"),
            _("The hash of all operations since the beginning."),
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        ),
        Field("created_at", time(), _("When the day was sealed."), "2026-11-01T00:10:04Z"),
    ),
)
LIST_SEALS = Call(
    "GET",
    "/seals",
    "listSeals",
    _("Seals of the statement"),
    _(
        "Lists the hashes by which the company's statement is proved. Keep them: with them and the "
        "statement, `kvitok-verify.py` shows that no operation was changed, added or removed later."
    ),
    Scope.BALANCE,
    message=_("Seals of the statement"),
    query=(PERIOD, LIMIT, CURSOR),
    response=page_of(SEAL, _("The seals, newest first.")),
    refusals=(Error.INVALID_INPUT,),
)

AMOUNT = Field(
    "amount",
    text(pattern=r"^\d+\.\d{2}$"),
    _("The amount to pay, as a decimal string."),
    "1900.00",
    source=lambda order: str(order.amount),
)
CURRENCY = Field(
    "currency",
    text(pattern="^[A-Z]{3}$"),
    _("The currency, as an ISO 4217 code."),
    settings.CURRENCY,
)
TOKENS = Field("tokens", integer(1), _("The number of tokens."), 1000)

ORDER = Shape(
    "TopUp",
    (
        Field(
            "id",
            identifier("top"),
            _("The top-up's id."),
            "top_0192f0c1a6de7c6d9e7f809102132435",
            source="public_id",
        ),
        Field(
            "status",
            choice(list(Order.State.values), "TopUpStatus"),
            _(
                "The status of the top-up. `created`: being prepared; `pending`: waiting for "
                "payment;"
                " `paid`: the tokens were credited; `canceled`; `expired`: not paid in time."
            ),
            "pending",
            source="state",
        ),
        Field(
            "payment_url",
            nullable(text(format="uri")),
            _("The page to which to redirect the payer."),
            "https://pay.example/p/4711",
            source="payment_page",
        ),
        TOKENS,
        Field(
            "package",
            nullable(text()),
            _("The package that was ordered, if any."),
            source=lambda order: order.package.code if order.package else None,
        ),
        AMOUNT,
        CURRENCY,
        Field("gateway", text(), _("The payment method."), "invoice"),
        Field("invoice", nullable(text()), _("The invoice number."), "2026-17", source="number"),
        Field("created_at", time(), _("When the top-up was created."), "2026-11-20T10:00:00Z"),
        moment(
            "expires_at", _("When the top-up expires if it is not paid."), "2026-11-27T10:00:00Z"
        ),
        moment("paid_at", _("When the top-up was paid.")),
    ),
)

PACKAGE = Shape(
    "TokenPackage",
    (
        Field("package", text(), _("The package's code."), "start", source="code"),
        TOKENS,
        replace(AMOUNT, source=lambda package: str(package.price)),
        CURRENCY,
    ),
)

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
        replace(TOKENS, example=1204),
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
        CURRENCY,
        Field(
            "pdf_url",
            text(format="uri"),
            format_lazy(
                _(
                    "The document as PDF. The link needs no key and works for {days} days: treat "
                    "it as the document."
                ),
                days=LIFETIME.days,
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
                issuing.url_of(document, "xml") if upd_xml.can_render(document) else None
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
    response=page_of(DOCUMENT, _("The documents, newest first.")),
    refusals=(Error.INVALID_INPUT,),
)

LIST_TOP_UPS = Call(
    "GET",
    "/top-up",
    "listTopUps",
    _("Top-ups"),
    _("Lists the company's top-ups. Requires a live key."),
    Scope.TOP_UP,
    message=_("Top-ups"),
    query=(LIMIT, CURSOR),
    response=page_of(ORDER, _("The top-ups, newest first.")),
    refusals=(Error.INVALID_INPUT,),
)
TOKENS_TO_BUY = option(
    "tokens",
    integer(1, settings.MAX_TOP_UP_TOKENS),
    _("The number of tokens to buy, at least `min_tokens`."),
    1000,
)
PACKAGE_TO_BUY = option(
    "package", text(maxLength=40), _("The code of a package from `GET /top-up/options`.")
)
GATEWAY = option(
    "gateway", text(), _("A payment method from `GET /top-up/options`; by default the first one.")
)
RETURN_URL = option(
    "return_url",
    text(format="uri", maxLength=500),
    _("The URL to which the payer returns after payment."),
)
CREATE_TOP_UP = Call(
    "POST",
    "/top-up",
    "createTopUp",
    pgettext_lazy("API call", "Top up"),
    _(
        "Creates a top-up and returns a link to pay for it. Specify either `tokens` or "
        "`package`. An invoice requires the company's billing details, entered in the "
        "cabinet; without them the response is 422 and names the page. Requires a live key."
    ),
    Scope.TOP_UP,
    message=STATE_TEXTS[Order.State.PENDING],
    body=(TOKENS_TO_BUY, PACKAGE_TO_BUY, GATEWAY, RETURN_URL),
    one_of=("tokens", "package"),
    response=ORDER,
    refusals=(Error.INVALID_INPUT,),
)
GET_TOP_UP = Call(
    "GET",
    "/top-up/{id}",
    "getTopUp",
    _("Retrieve a top-up"),
    _("Returns the current status of a top-up. The event `top_up.paid` also reports the payment."),
    Scope.TOP_UP,
    message=STATE_TEXTS[Order.State.PENDING],
    response=ORDER,
    refusals=(Error.NOT_FOUND,),
)
OPTIONS_OF_TOP_UP = Call(
    "GET",
    "/top-up/options",
    "getTopUpOptions",
    _("Packages and payment methods"),
    _("Lists the packages on sale and the payment methods. Test keys can use this call."),
    Scope.TOP_UP,
    message=_("Packages and payment methods"),
    query=(),
    response=(
        Field("packages", array(), _("The packages on sale."), fields=PACKAGE),
        Field(
            "min_tokens",
            nullable(integer(1)),
            _("The minimum number of tokens per top-up; `null` if only packages are sold."),
            100,
        ),
        Field(
            "max_tokens",
            integer(1),
            _("The maximum number of tokens per top-up."),
            settings.MAX_TOP_UP_TOKENS,
        ),
        CURRENCY,
        Field(
            "gateways",
            array(text()),
            _("The payment methods available."),
            list(settings.PAYMENT_GATEWAYS),
        ),
    ),
)

CALLS = (
    *(GET_BALANCE, LIST_SEALS, LIST_DOCUMENTS),
    *(CREATE_TOP_UP, GET_TOP_UP, LIST_TOP_UPS, OPTIONS_OF_TOP_UP),
)
