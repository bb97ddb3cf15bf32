"""GET /balance and /top-up, written down."""

from django.conf import settings

from accounts.models import Scope
from api_docs.calls.common_fields import CURSOR, HAS_MORE, LIMIT, NEXT_CURSOR
from api_docs.calls.shapes import (
    Call,
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
from billing.models import Order
from billing.web.api import BALANCE, LIST, OPTIONS, PLACED, STATES
from config.errors import Error

GET_BALANCE = Call(
    "GET",
    "/balance",
    "getBalance",
    ("Баланс", "Balance"),
    (
        "Сколько токенов можно потратить и сколько отложено под сообщения в пути.",
        "How many tokens can be spent, and how many are held for messages under way.",
    ),
    Scope.BALANCE,
    message=(BALANCE["ru"], BALANCE["en"]),
    answer=Shape(
        "Balance",
        (
            Field("available", integer(0), ("Можно потратить.", "Can be spent."), 985),
            Field("held", integer(0), ("Отложено.", "Set aside."), 1),
        ),
    ),
)

AMOUNT = Field(
    "amount",
    text(pattern=r"^\d+\.\d{2}$"),
    ("Сумма к оплате, десятичной строкой.", "The amount to pay, as a decimal string."),
    "1900.00",
)
CURRENCY = Field(
    "currency", text(pattern="^[A-Z]{3}$"), ("Валюта.", "The currency."), settings.CURRENCY
)
TOKENS = Field("tokens", integer(1), ("Сколько токенов.", "How many tokens."), 1000)

ORDER = Shape(
    "TopUp",
    (
        Field(
            "id",
            identifier("top"),
            ("Идентификатор пополнения.", "The top-up's id."),
            "top_0192f0c1a6de7c6d9e7f809102132435",
        ),
        Field(
            "status",
            choice(list(Order.State.values), "TopUpStatus"),
            (
                "`created` — готовится, `pending` — ждёт оплаты, `paid` — токены зачислены, "
                "`canceled` — отменено, `expired` — не оплачено вовремя.",
                "`created`: being prepared, `pending`: waits for payment, `paid`: the tokens are "
                "there, `canceled`, `expired`: not paid in time.",
            ),
            "pending",
        ),
        Field(
            "payment_url",
            nullable(text(format="uri")),
            ("Куда направить плательщика.", "Where to send whoever pays."),
            "https://pay.example/p/4711",
        ),
        TOKENS,
        Field(
            "package",
            nullable(text()),
            ("Пакет, если выбран он.", "The package, if one was."),
            None,
        ),
        AMOUNT,
        CURRENCY,
        Field("gateway", text(), ("Способ оплаты.", "The way to pay."), "invoice"),
        Field("invoice", nullable(text()), ("Номер счёта.", "The invoice's number."), "2026-17"),
        Field(
            "created_at", time(), ("Когда создано.", "When it was made."), "2026-11-20T10:00:00Z"
        ),
        Field(
            "expires_at",
            nullable(time()),
            ("До какого времени можно оплатить.", "Until when it can be paid."),
            "2026-11-27T10:00:00Z",
        ),
        Field("paid_at", nullable(time()), ("Когда оплачено.", "When it was paid."), None),
    ),
)

PACKAGE = Shape(
    "TokenPackage",
    (
        Field("package", text(), ("Код пакета.", "The package's code."), "start"),
        TOKENS,
        AMOUNT,
        CURRENCY,
    ),
)

LIST_TOP_UPS = Call(
    "GET",
    "/top-up",
    "listTopUps",
    ("Пополнения", "Top-ups"),
    ("Пополнения компании. Нужен боевой ключ.", "The company's top-ups. A live key is needed."),
    Scope.TOP_UP,
    message=(LIST["ru"], LIST["en"]),
    query=(LIMIT, CURSOR),
    answer=(
        Field("data", array(), ("Пополнения, новые первыми.", "Newest first."), fields=ORDER),
        HAS_MORE,
        NEXT_CURSOR,
    ),
    refusals=(Error.INVALID_INPUT,),
)
CREATE_TOP_UP = Call(
    "POST",
    "/top-up",
    "createTopUp",
    ("Пополнить баланс", "Top up"),
    (
        "Создаёт пополнение и даёт ссылку на оплату. Укажите `tokens` или `package`. "
        "Для счёта реквизиты компании должны быть заполнены в кабинете: иначе 422, и ответ "
        "называет страницу. Нужен боевой ключ.",
        "Makes a top-up and gives the link to pay it. Give `tokens` or `package`. "
        "An invoice needs the company's requisites, filled in in the cabinet: without them 422, "
        "and the answer names the page. A live key is needed.",
    ),
    Scope.TOP_UP,
    message=(PLACED["ru"], PLACED["en"]),
    body=(
        Field(
            "tokens",
            nullable(integer(1, settings.MAX_TOP_UP_TOKENS)),
            (
                "Сколько токенов купить; меньше `min_tokens` не продаётся.",
                "How many tokens to buy; fewer than `min_tokens` are not sold.",
            ),
            1000,
            required=False,
        ),
        Field(
            "package",
            nullable(text(maxLength=40)),
            ("Пакет из `GET /top-up/options`.", "A package of `GET /top-up/options`."),
            required=False,
        ),
        Field(
            "gateway",
            nullable(text()),
            (
                "Способ оплаты из `GET /top-up/options`. По умолчанию первый.",
                "A way to pay of `GET /top-up/options`; the first by default.",
            ),
            required=False,
        ),
        Field(
            "return_url",
            nullable(text(format="uri", maxLength=500)),
            (
                "Куда вернуть плательщика после оплаты.",
                "Where to bring whoever paid back to.",
            ),
            required=False,
        ),
    ),
    one_of=("tokens", "package"),
    answer=ORDER,
    refusals=(Error.INVALID_INPUT,),
)
GET_TOP_UP = Call(
    "GET",
    "/top-up/{id}",
    "getTopUp",
    ("Одно пополнение", "One top-up"),
    (
        "Что с пополнением сейчас. Об оплате сообщит и событие `top_up.paid`.",
        "What has become of it. The event `top_up.paid` tells of the payment too.",
    ),
    Scope.TOP_UP,
    message=STATES[Order.State.PENDING],
    answer=ORDER,
    refusals=(Error.NOT_FOUND,),
)
OPTIONS_OF_TOP_UP = Call(
    "GET",
    "/top-up/options",
    "getTopUpOptions",
    ("Пакеты и способы оплаты", "Packages and ways to pay"),
    (
        "Что можно купить и как заплатить. Отвечает и тестовому ключу.",
        "What can be bought and how to pay. A test key may ask too.",
    ),
    Scope.TOP_UP,
    message=(OPTIONS["ru"], OPTIONS["en"]),
    answer=(
        Field(
            "packages",
            array(),
            ("Пакеты.", "The packages."),
            fields=PACKAGE,
        ),
        Field(
            "min_tokens",
            nullable(integer(1)),
            (
                "Сколько токенов можно купить самое меньшее; `null` — только пакетами.",
                "The fewest tokens one can buy; `null`: packages only.",
            ),
            100,
        ),
        Field(
            "max_tokens",
            integer(1),
            ("Сколько самое большее.", "The most."),
            settings.MAX_TOP_UP_TOKENS,
        ),
        CURRENCY,
        Field(
            "gateways",
            array(text()),
            ("Способы оплаты.", "The ways to pay."),
            list(settings.PAYMENT_GATEWAYS),
        ),
    ),
)

CALLS = (GET_BALANCE, CREATE_TOP_UP, GET_TOP_UP, LIST_TOP_UPS, OPTIONS_OF_TOP_UP)
