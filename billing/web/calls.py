"""GET /balance and /top-up, declared."""

from dataclasses import replace

from django.conf import settings
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.api.calls import Call
from accounts.api.common_fields import CURSOR, HAS_MORE, LIMIT, NEXT_CURSOR
from accounts.api.fields import (
    Field,
    Shape,
    array,
    choice,
    identifier,
    integer,
    nullable,
    text,
    time,
)
from accounts.models import Scope
from billing.models import Order
from config.errors import Error
from config.texts import StrOrPromise

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
    _("How many tokens can be spent, and how many are held for messages under way."),
    Scope.BALANCE,
    message=_("Token balance"),
    answer=Shape(
        "Balance",
        (
            Field("available", integer(0), _("Can be spent."), 985),
            Field("held", integer(0), _("Set aside."), 1),
        ),
    ),
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
    _("The currency."),
    settings.CURRENCY,
    source="currency",
)
TOKENS = Field("tokens", integer(1), _("How many tokens."), 1000, source="tokens")

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
                "`created`: being prepared, `pending`: waits for payment, `paid`: the tokens are "
                "there, `canceled`, `expired`: not paid in time."
            ),
            "pending",
            source="state",
        ),
        Field(
            "payment_url",
            nullable(text(format="uri")),
            _("Where to send whoever pays."),
            "https://pay.example/p/4711",
            source=lambda order: order.payment_url or None,
        ),
        TOKENS,
        Field(
            "package",
            nullable(text()),
            _("The package, if one was."),
            None,
            source=lambda order: order.package.code if order.package else None,
        ),
        AMOUNT,
        CURRENCY,
        Field("gateway", text(), _("The way to pay."), "invoice", source="gateway"),
        Field(
            "invoice",
            nullable(text()),
            _("The invoice's number."),
            "2026-17",
            source=lambda order: order.number or None,
        ),
        Field(
            "created_at",
            time(),
            pgettext_lazy("top-up", "When it was made."),
            "2026-11-20T10:00:00Z",
            source="created_at",
        ),
        Field(
            "expires_at",
            nullable(time()),
            _("Until when it can be paid."),
            "2026-11-27T10:00:00Z",
            source="expires_at",
        ),
        Field(
            "paid_at",
            nullable(time()),
            _("When it was paid."),
            None,
            source="paid_at",
        ),
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

LIST_TOP_UPS = Call(
    "GET",
    "/top-up",
    "listTopUps",
    _("Top-ups"),
    _("The company's top-ups. A live key is needed."),
    Scope.TOP_UP,
    message=_("Top-ups"),
    query=(LIMIT, CURSOR),
    answer=(
        Field("data", array(), pgettext_lazy("top-ups", "Newest first."), fields=ORDER),
        HAS_MORE,
        NEXT_CURSOR,
    ),
    refusals=(Error.INVALID_INPUT,),
)
TOKENS_TO_BUY = Field(
    "tokens",
    nullable(integer(1, settings.MAX_TOP_UP_TOKENS)),
    _("How many tokens to buy; fewer than `min_tokens` are not sold."),
    1000,
    required=False,
)
PACKAGE_TO_BUY = Field(
    "package",
    nullable(text(maxLength=40)),
    _("A package of `GET /top-up/options`."),
    required=False,
)
GATEWAY = Field(
    "gateway",
    nullable(text()),
    _("A way to pay of `GET /top-up/options`; the first by default."),
    required=False,
)
RETURN_URL = Field(
    "return_url",
    nullable(text(format="uri", maxLength=500)),
    _("Where to bring whoever paid back to."),
    required=False,
)
CREATE_TOP_UP = Call(
    "POST",
    "/top-up",
    "createTopUp",
    pgettext_lazy("API call", "Top up"),
    _(
        "Makes a top-up and gives the link to pay it. Give `tokens` or `package`. "
        "An invoice needs the company's requisites, filled in in the cabinet: without them 422, "
        "and the answer names the page. A live key is needed."
    ),
    Scope.TOP_UP,
    message=STATE_TEXTS[Order.State.PENDING],
    body=(TOKENS_TO_BUY, PACKAGE_TO_BUY, GATEWAY, RETURN_URL),
    one_of=("tokens", "package"),
    answer=ORDER,
    refusals=(Error.INVALID_INPUT,),
)
GET_TOP_UP = Call(
    "GET",
    "/top-up/{id}",
    "getTopUp",
    _("One top-up"),
    _("What has become of it. The event `top_up.paid` tells of the payment too."),
    Scope.TOP_UP,
    message=STATE_TEXTS[Order.State.PENDING],
    answer=ORDER,
    refusals=(Error.NOT_FOUND,),
)
OPTIONS_OF_TOP_UP = Call(
    "GET",
    "/top-up/options",
    "getTopUpOptions",
    _("Packages and ways to pay"),
    _("What can be bought and how to pay. A test key may ask too."),
    Scope.TOP_UP,
    message=_("Packages and ways to pay"),
    query=(),
    answer=(
        Field(
            "packages",
            array(),
            _("The packages."),
            fields=PACKAGE,
        ),
        Field(
            "min_tokens",
            nullable(integer(1)),
            _("The fewest tokens one can buy; `null`: packages only."),
            100,
        ),
        Field(
            "max_tokens",
            integer(1),
            _("The most."),
            settings.MAX_TOP_UP_TOKENS,
        ),
        CURRENCY,
        Field(
            "gateways",
            array(text()),
            _("The ways to pay."),
            list(settings.PAYMENT_GATEWAYS),
        ),
    ),
)

CALLS = (GET_BALANCE, CREATE_TOP_UP, GET_TOP_UP, LIST_TOP_UPS, OPTIONS_OF_TOP_UP)
