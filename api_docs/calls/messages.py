"""GET /messages, /messages/{id}, /test/messages and /channels, written down."""

from accounts.models import Scope
from api_docs.calls import message_samples
from api_docs.calls.common_fields import (
    CHANNEL_NAMES,
    CURSOR,
    HAS_MORE,
    LIMIT,
    MESSAGE_ID,
    MESSAGE_STATUSES,
    NEXT_CURSOR,
    REQUEST_ID,
    STATUS,
    TEST,
    USED_CHANNEL,
)
from api_docs.calls.shapes import (
    Call,
    Field,
    Fields,
    Shape,
    array,
    boolean,
    choice,
    integer,
    nullable,
    text,
    time,
    time_or_day,
)
from channels.lifecycle.steps import FallbackReason
from channels.models import Attempt, Message
from channels.providers.base import Content
from channels.providers.inbound import ReceiptState
from channels.web.api import WORDS
from config.errors import Error

RECEIPT_STATUSES = [one.value for one in ReceiptState if one is not ReceiptState.UNREACHABLE]

KIND = Field(
    "kind",
    choice(list(Message.Kind.values), "MessageKind"),
    ("Что отправлено: код или ссылка.", "What was sent: a code or a link."),
    "code",
)
NUMBER = Field(
    "phone",
    text(pattern=r"^\+[0-9]+\*?$"),
    (
        "Номер получателя, E.164. У старых сообщений — только начало и `*`.",
        "The recipient's number, E.164. Of an old message its beginning and `*` alone.",
    ),
    "+79990000000",
)
LINK = Field(
    "short_url",
    nullable(text(format="uri")),
    ("Короткая ссылка, если она была в сообщении.", "The short link, if the message had one."),
    None,
)
CREATED = Field(
    "created_at", time(), ("Когда принят запрос.", "When it was accepted."), "2026-11-20T10:15:12Z"
)


def _moment(name: str, russian: str, english: str, example: str | None) -> Field:
    return Field(name, nullable(time()), (russian, english), example)


MESSAGE = Shape(
    "Message",
    (
        MESSAGE_ID,
        KIND,
        NUMBER,
        USED_CHANNEL,
        STATUS,
        Field(
            "error",
            nullable(text()),
            ("Код ошибки, если не доставлено.", "The error code, if it was not delivered."),
            None,
        ),
        Field(
            "cost",
            integer(0),
            ("Цена доставки в токенах.", "The price of the delivery in tokens."),
            1,
        ),
        Field(
            "segments",
            nullable(integer(1)),
            ("Частей в SMS; `null` у других каналов.", "SMS segments; `null` on other channels."),
            None,
        ),
        LINK,
        TEST,
        REQUEST_ID,
        CREATED,
        _moment(
            "sent_at", "Когда передано в канал.", "When it was handed over.", "2026-11-20T10:15:13Z"
        ),
        _moment(
            "delivered_at", "Когда доставлено.", "When it was delivered.", "2026-11-20T10:15:14Z"
        ),
        _moment("read_at", "Когда прочитано.", "When it was read.", None),
        _moment(
            "finished_at", "Когда всё закончилось.", "When it was over.", "2026-11-20T10:15:14Z"
        ),
    ),
)

RECEIPT = Shape(
    "Receipt",
    (
        Field(
            "status",
            choice(RECEIPT_STATUSES, "ReceiptStatus"),
            ("Что сообщил провайдер, в наших словах.", "What the provider reported, in our words."),
            "delivered",
        ),
        Field(
            "provider_status",
            text(),
            ("Слово самого провайдера.", "The provider's own word."),
            "delivered",
        ),
        Field(
            "error_code",
            nullable(text()),
            ("Код ошибки провайдера.", "The provider's error code."),
            None,
        ),
        _moment("at", "Когда это было у провайдера.", "When it was so.", "2026-11-20T10:15:14Z"),
        Field(
            "received_at",
            time(),
            ("Когда отчёт пришёл к нам.", "When we were told."),
            "2026-11-20T10:15:14Z",
        ),
    ),
)

ATTEMPT = Shape(
    "Attempt",
    (
        USED_CHANNEL,
        Field(
            "provider",
            text(),
            ("Через какого провайдера.", "The provider it went through."),
            "whatsapp_cloud",
        ),
        Field(
            "status",
            choice(list(Attempt.State.values), "AttemptStatus"),
            ("Чем кончилась попытка.", "What became of the attempt."),
            "delivered",
        ),
        Field(
            "error_code",
            nullable(text()),
            (
                "Код ошибки провайдера; `patience`, если доставку ждали и перешли к другому "
                "каналу.",
                "The provider's error code; `patience` where the wait was over and another channel "
                "was tried.",
            ),
            None,
        ),
        Field("started_at", time(), ("Начало попытки.", "When it began."), "2026-11-20T10:15:12Z"),
        _moment(
            "accepted_at", "Когда провайдер принял.", "When it was taken.", "2026-11-20T10:15:13Z"
        ),
        _moment("finished_at", "Когда закончилась.", "When it was over.", "2026-11-20T10:15:14Z"),
        Field(
            "receipts",
            array(),
            ("Отчёты провайдера по порядку.", "The provider's receipts, in order."),
            fields=RECEIPT,
        ),
    ),
)

TURN = Shape(
    "FallbackStep",
    (
        Field(
            "event",
            choice(list(FallbackReason), "FallbackEvent"),
            (
                "Перешли к каналу: `patience` — прежний не подтвердил доставку вовремя, `refused` "
                "— не доставил. Не стали: `tokens` — не хватило токенов, `time` — слишком поздно. "
                "Отменили: `late` — прежний всё-таки доставил, `code_entered` — код введён, "
                "`click` — ссылку открыли. `owed` — прежний доставил, но канал уже принял "
                "сообщение.",
                "Went on to the channel: `patience`, the last one proved no delivery in time; "
                "`refused`, it did not deliver. Did not: `tokens`, there were too few; `time`, too "
                "late. Called it off: `late`, the last one delivered after all; `code_entered`; "
                "`click`. `owed`: the last one delivered, but the channel had the message already.",
            ),
            "refused",
        ),
        Field(
            "channel", CHANNEL_NAMES, ("О каком канале речь.", "The channel in question."), "sms"
        ),
        Field("at", time(), ("Когда.", "When."), "2026-11-20T10:15:13Z"),
    ),
)

MESSAGE_DETAILS = Shape(
    "MessageDetails",
    (
        Field(
            "timeline",
            array(),
            ("Попытки доставки по порядку.", "The attempts to deliver it, in order."),
            fields=ATTEMPT,
        ),
        _moment(
            "opened_at",
            "Когда человек впервые открыл ссылку из сообщения; предпросмотр и сканеры не в счёт.",
            "When the person first opened the link in it; previews and scanners do not count.",
            None,
        ),
        Field(
            "fallback",
            array(),
            (
                "Что решено о запасных каналах; пусто, если о них речи не было.",
                "What was decided of further channels; empty where there was nothing to decide.",
            ),
            fields=TURN,
        ),
    ),
    base=MESSAGE,
)

TEST_MESSAGE = Shape(
    "TestMessage",
    (
        MESSAGE_ID,
        KIND,
        NUMBER,
        USED_CHANNEL,
        STATUS,
        Field(
            "text",
            nullable(text()),
            ("Текст сообщения.", "The text of the message."),
            (message_samples.standard("ru"), message_samples.standard("en")),
        ),
        Field("code", nullable(text()), ("Сам код.", "The code itself."), "482915"),
        LINK,
        CREATED,
    ),
)

CHANNEL = Shape(
    "ChannelInfo",
    (
        Field("channel", CHANNEL_NAMES, ("Канал.", "The channel."), "whatsapp"),
        Field("name", text(), ("Название для людей.", "Its name for people."), "WhatsApp"),
        Field(
            "price",
            integer(1),
            ("Токенов за доставленное сообщение.", "Tokens per delivered message."),
            1,
        ),
        Field("available", boolean(), ("Доступен ли.", "Whether it can be used."), True),
        Field(
            "capabilities",
            array(choice([one.value for one in Content], "Capability")),
            ("Что он может передать.", "What it can carry."),
            [one.value for one in Content],
        ),
    ),
)

FILTERS = (
    Field(
        "phone",
        text(),
        ("Номер в любом написании.", "The number, in any spelling."),
        required=False,
    ),
    Field("channel", CHANNEL_NAMES, ("Канал.", "The channel."), required=False),
    Field(
        "status",
        MESSAGE_STATUSES,
        ("Статус.", "The status."),
        required=False,
    ),
    Field("kind", KIND.schema, ("Код или ссылка.", "A code or a link."), required=False),
    Field(
        "from",
        time_or_day(),
        ("С какого момента, ISO 8601, включительно.", "From when, ISO 8601, inclusive."),
        required=False,
    ),
    Field(
        "to",
        time_or_day(),
        ("До какого момента, ISO 8601, не включая.", "Until when, ISO 8601, exclusive."),
        required=False,
    ),
    LIMIT,
    CURSOR,
)
LISTED = (Error.INVALID_INPUT, Error.INVALID_PHONE)


def _rows(fields: Fields) -> Field:
    return Field(
        "data", array(), ("Записи, новые первыми.", "The rows, newest first."), fields=fields
    )


LIST_MESSAGES = Call(
    "GET",
    "/messages",
    "listMessages",
    ("История сообщений", "Message history"),
    (
        "Сообщения компании в режиме ключа: боевой ключ видит боевые, тестовый — тестовые.",
        "The company's messages in the key's mode: a live key sees live ones, a test key its own.",
    ),
    Scope.MESSAGES,
    message=(WORDS["messages"]["ru"], WORDS["messages"]["en"]),
    query=FILTERS,
    answer=(_rows(MESSAGE), HAS_MORE, NEXT_CURSOR),
    refusals=LISTED,
)

GET_MESSAGE = Call(
    "GET",
    "/messages/{id}",
    "getMessage",
    ("Одно сообщение", "One message"),
    (
        "Сообщение и всё, что с ним было: попытки и отчёты провайдеров.",
        "A message and all that happened to it: attempts and the providers' receipts.",
    ),
    Scope.MESSAGES,
    message=(WORDS["message"]["ru"], WORDS["message"]["en"]),
    answer=MESSAGE_DETAILS,
    refusals=(Error.NOT_FOUND,),
)

TEST_MESSAGES = Call(
    "GET",
    "/test/messages",
    "listTestMessages",
    ("Что пришло бы на телефон", "What the phone would have shown"),
    (
        "Тексты сообщений тестовых ключей, вместе с кодами. Только для тестовых ключей.",
        "The texts of test keys' messages, codes included. For test keys only.",
    ),
    Scope.MESSAGES,
    page="test-mode",
    message=(WORDS["test"]["ru"], WORDS["test"]["en"]),
    query=FILTERS,
    answer=(
        _rows(TEST_MESSAGE),
        HAS_MORE,
        NEXT_CURSOR,
    ),
    refusals=LISTED,
)

LIST_CHANNELS = Call(
    "GET",
    "/channels",
    "listChannels",
    ("Каналы", "Channels"),
    (
        "Цена каждого канала, что он умеет и доступен ли сейчас.",
        "The price of each channel, what it can carry and whether it is available now.",
    ),
    None,
    message=(WORDS["channels"]["ru"], WORDS["channels"]["en"]),
    answer=(
        Field(
            "data",
            array(),
            ("Все каналы.", "Every channel."),
            fields=CHANNEL,
        ),
    ),
)

CALLS = (LIST_MESSAGES, GET_MESSAGE, TEST_MESSAGES, LIST_CHANNELS)
