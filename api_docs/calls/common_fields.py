"""Fields that several calls share."""

from api_docs.calls.shapes import Field, boolean, choice, identifier, integer, nullable, text, time
from channels.models import Message
from channels.web.request_fields import CHANNELS, LOCALES
from links.addresses.target_urls import MAX_LENGTH as URL_LENGTH
from links.web.request_fields import FIVE_YEARS, MINUTE

CHANNEL_NAMES = choice(CHANNELS, "ChannelName")
MESSAGE_STATUSES = choice(list(Message.State.values), "MessageStatus")

PHONE = Field(
    "phone",
    text(minLength=1, maxLength=64),
    (
        "Номер получателя. Лучше всего с плюсом и кодом страны, `+79990000000`; пробелы, скобки, "
        "точки и дефисы не мешают. Без плюса у компании из России или Казахстана `8 999 …` и "
        "десять цифр, начинающиеся с 9, читаются как `+7`; остальное — сначала как международный "
        "номер, затем как номер страны компании.",
        "The recipient's number, best with a plus and its country code, `+79990000000`; spaces, "
        "brackets, dots and hyphens do no harm. Without a plus, `8 999 …` and ten digits that "
        "begin with 9 are `+7` to a company in Russia or Kazakhstan; all else is read as an "
        "international number first, then as one of the company's country.",
    ),
    "+79990000000",
)
UNDERSTOOD_PHONE = Field(
    "phone",
    text(pattern=r"^\+[0-9]+$"),
    (
        "Номер, как его понял сервис, в виде E.164. Сравните с тем, что имели в виду.",
        "The number as it was understood, in E.164. Compare it with what you meant.",
    ),
    "+79990000000",
)
CHANNEL = Field(
    "channel",
    nullable(CHANNEL_NAMES),
    (
        "Канал: сообщение пойдёт только им. Если не указан, канал выберет сервис: сначала канал по "
        "умолчанию из настроек компании, а если там включены запасные каналы — и за ним они.",
        "The channel, and no other. If it is left out the service chooses, beginning with the "
        "company's default, and goes on by further channels where its settings say so.",
    ),
    required=False,
)
LOCALE = Field(
    "locale",
    nullable(choice(LOCALES, "Locale")),
    (
        "Язык сообщения. По умолчанию — язык из настроек компании.",
        "The language of the message; the company's by default.",
    ),
    required=False,
)
URL = Field(
    "url",
    text(format="uri", minLength=1, maxLength=URL_LENGTH),
    (
        "Полная ссылка, `http://` или `https://`. Ссылки на IP-адреса, локальные имена и другие "
        "сокращатели не принимаются.",
        "A full URL, `http://` or `https://`. IP addresses, local names and other shorteners are "
        "refused.",
    ),
    "https://shop.example/orders/1024",
)
ALIAS = Field(
    "alias",
    nullable(text(minLength=3, maxLength=64)),
    (
        "Своё имя ссылки: латинские буквы, цифры, дефис и подчёркивание. Регистр не важен.",
        "A name of your own for the link: Latin letters, digits, hyphens and underscores, in any "
        "case.",
    ),
    required=False,
)
LINK_LIFETIME = Field(
    "expires_in",
    nullable(integer(MINUTE, FIVE_YEARS)),
    (
        "Через сколько секунд ссылка перестанет открываться. По умолчанию — срок из настроек "
        "компании, а если он не задан, ссылка бессрочная.",
        "After how many seconds the link stops working. By default the company's setting; without "
        "one the link never expires.",
    ),
    required=False,
)
MESSAGE_ID = Field(
    "id",
    identifier("msg"),
    (
        "Идентификатор сообщения: по нему открывается `GET /messages/{id}`.",
        "The message's id, for `GET /messages/{id}`.",
    ),
    "msg_0192f0c1a6d87b3e9c4f5a6b7c8d9e0f",
)
USED_CHANNEL = Field(
    "channel",
    CHANNEL_NAMES,
    (
        "Канал, которым ушло сообщение; если их было несколько — последний.",
        "The channel the message went by; of several, the last one.",
    ),
    "whatsapp",
)
SEND_STATUS = Field(
    "status",
    choice(["queued", "sent", "delivered"], "SendStatus"),
    ("Что с сообщением сейчас.", "What has become of the message so far."),
    "delivered",
)
STATUS = Field(
    "status",
    MESSAGE_STATUSES,
    ("Статус сообщения.", "The message's status."),
    "delivered",
)
COST = Field(
    "cost",
    integer(0),
    (
        "Сколько токенов спишется, когда доставка подтвердится. У тестовых ключей 0.",
        "Tokens charged once delivery is proved; 0 with a test key.",
    ),
    1,
)
TEST = Field(
    "test",
    boolean(),
    ("`true`, если запрос сделан тестовым ключом.", "`true` when a test key made the request."),
    False,
)
SHORT_URL = Field(
    "short_url",
    text(format="uri"),
    ("Короткая ссылка.", "The short link."),
    "https://kvitok.example/bcdfghjkmn",
)
EXPIRES_AT = Field(
    "expires_at",
    nullable(time()),
    ("Когда перестанет открываться; `null` — никогда.", "When it stops working; `null`: never."),
    None,
)
EXPIRES_IN = Field(
    "expires_in",
    nullable(integer()),
    (
        "Сколько секунд ей осталось; `null` — бессрочная.",
        "How many seconds it has left; `null`: it never expires.",
    ),
    None,
)
LIMIT = Field(
    "limit",
    integer(1, 200),
    ("Сколько записей на странице, по умолчанию 50.", "Rows on a page, 50 by default."),
    required=False,
)
CURSOR = Field(
    "cursor",
    text(),
    (
        "`next_cursor` предыдущей страницы, чтобы получить следующую.",
        "`next_cursor` of the previous page, to get the next one.",
    ),
    required=False,
)
HAS_MORE = Field(
    "has_more", boolean(), ("Есть ли следующая страница.", "Whether there is another page."), False
)
NEXT_CURSOR = Field(
    "next_cursor",
    nullable(text()),
    (
        "Передайте его в `cursor`; `null` на последней странице.",
        "Pass it as `cursor`; `null` on the last page.",
    ),
    None,
)
PATH_ID = Field("id", text(), ("Идентификатор.", "The id."), required=True)
REQUEST_ID = Field(
    "request_id",
    text(pattern="^req_[0-9a-f]{22}$"),
    ("`X-Request-Id` запроса.", "`X-Request-Id` of the request."),
    "req_6f1d2c3b4a59687766aa00",
)
