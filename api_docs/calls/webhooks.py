"""/webhooks, written down."""

from dataclasses import replace

from accounts.models import Endpoint, EventKind, Scope
from accounts.webhooks.api import WORDS
from accounts.webhooks.egress import MAX_URL_LENGTH
from accounts.webhooks.endpoints import DESCRIPTION_LENGTH
from api_docs.calls.common_fields import HAS_MORE, NEXT_CURSOR
from api_docs.calls.shapes import (
    Call,
    Field,
    Shape,
    array,
    boolean,
    choice,
    identifier,
    nullable,
    text,
    time,
)
from config.errors import Error, Words

KINDS = list(EventKind.values)
EVENT_TYPES = choice(KINDS, "EventType")
ID = "whk_0192f0c1a6db7f3a8b4c5d6e7f809102"

URL = Field(
    "url",
    text(format="uri", minLength=1, maxLength=MAX_URL_LENGTH),
    (
        "Адрес вашего сервера: `https://`, порт 443 или 8443, доступен из интернета.",
        "Your server's address: `https://`, port 443 or 8443, reachable from the internet.",
    ),
    "https://shop.example/kvitok",
)
EVENTS = Field(
    "events",
    nullable(array(EVENT_TYPES) | {"minItems": 1}),
    ("О чём сообщать. По умолчанию обо всём.", "What to tell of; everything by default."),
    ["message.delivered", "message.failed"],
    required=False,
)
DESCRIPTION = Field(
    "description",
    nullable(text(maxLength=DESCRIPTION_LENGTH)),
    ("Заметка для себя.", "A note for yourself."),
    required=False,
)
ENABLED = Field(
    "enabled",
    nullable(boolean()),
    ("Включить или выключить.", "Switches it on or off."),
    required=False,
)
SECRET = Field(
    "secret",
    text(pattern="^whsec_[A-Za-z0-9+/=]+$"),
    (
        "Секрет подписи. Показывается только здесь: сохраните его.",
        "The signing secret. It is shown only here: keep it.",
    ),
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
)


def _moment(name: str, russian: str, english: str) -> Field:
    return Field(name, nullable(time()), (russian, english), None)


ENDPOINT_ID = Field("id", identifier("whk"), ("Идентификатор адреса.", "The endpoint's id."), ID)
ENDPOINT = Shape(
    "WebhookEndpoint",
    (
        ENDPOINT_ID,
        Field("url", text(format="uri"), ("Адрес.", "The address."), URL.example),
        Field(
            "events", array(EVENT_TYPES), ("О чём сообщать.", "What it is told of."), EVENTS.example
        ),
        Field("description", nullable(text()), ("Ваша заметка.", "Your note."), None),
        Field("enabled", boolean(), ("Включён ли.", "Whether it is on."), True),
        Field(
            "disabled_reason",
            nullable(choice(list(Endpoint.Reason.values), "DisabledReason")),
            (
                "Почему выключен: вручную, получатель ответил 410 или сутки не принимал.",
                "Why it is off: by hand, the receiver answered 410, or took nothing for a day.",
            ),
            None,
        ),
        Field("test", boolean(), ("Для тестового ли ключа.", "Whether it is a test key's."), False),
        Field(
            "created_at", time(), ("Когда добавлен.", "When it was added."), "2026-11-20T10:00:00Z"
        ),
        _moment("last_success_at", "Когда последний раз принял.", "When it last accepted one."),
        _moment("failing_since", "С какого времени не принимает.", "Since when it accepts none."),
        _moment(
            "old_secret_until",
            "До какого времени подписывает и прежний секрет.",
            "Until when the last secret signs as well.",
        ),
    ),
)
ENDPOINT_WITH_SECRET = Shape("WebhookEndpointWithSecret", (SECRET,), base=ENDPOINT)


def _words(name: str) -> Words:
    return WORDS[name]["ru"], WORDS[name]["en"]


LIST = Call(
    "GET",
    "/webhooks",
    "listWebhooks",
    ("Адреса для вебхуков", "Webhook endpoints"),
    (
        "Адреса компании в режиме ключа, все на одной странице.",
        "The company's endpoints in the key's mode, all on one page.",
    ),
    Scope.WEBHOOKS,
    message=_words("list"),
    answer=(
        Field("data", array(), ("Адреса, новые первыми.", "Newest first."), fields=ENDPOINT),
        HAS_MORE,
        NEXT_CURSOR,
    ),
)
CREATE = Call(
    "POST",
    "/webhooks",
    "createWebhook",
    ("Добавить адрес", "Add an endpoint"),
    (
        "Добавляет адрес, на который будут приходить события, и выдаёт секрет подписи.",
        "Adds an address that events are sent to, and gives its signing secret.",
    ),
    Scope.WEBHOOKS,
    message=_words("created"),
    body=(URL, EVENTS, DESCRIPTION),
    answer=ENDPOINT_WITH_SECRET,
    refusals=(Error.INVALID_INPUT,),
)
GET = Call(
    "GET",
    "/webhooks/{id}",
    "getWebhook",
    ("Один адрес", "One endpoint"),
    ("Адрес и как он отвечает.", "An endpoint, and how it is doing."),
    Scope.WEBHOOKS,
    message=_words("one"),
    answer=ENDPOINT,
    refusals=(Error.NOT_FOUND,),
)
CHANGE = Call(
    "PATCH",
    "/webhooks/{id}",
    "changeWebhook",
    ("Изменить адрес", "Change an endpoint"),
    (
        "Меняет то, что передано; остальное остаётся как было.",
        "Changes what is given; the rest stays as it was.",
    ),
    Scope.WEBHOOKS,
    message=_words("changed"),
    body=(replace(URL, schema=nullable(URL.schema), required=False), EVENTS, DESCRIPTION, ENABLED),
    answer=ENDPOINT,
    refusals=(Error.INVALID_INPUT, Error.NOT_FOUND),
)
DELETE = Call(
    "DELETE",
    "/webhooks/{id}",
    "deleteWebhook",
    ("Удалить адрес", "Delete an endpoint"),
    (
        "Больше событий на него не приходит.",
        "It gets no more events.",
    ),
    Scope.WEBHOOKS,
    message=_words("deleted"),
    answer=(ENDPOINT_ID,),
    refusals=(Error.NOT_FOUND,),
)
ROTATE = Call(
    "POST",
    "/webhooks/{id}/rotate",
    "rotateWebhook",
    ("Сменить секрет", "Rotate the secret"),
    (
        "Выдаёт новый секрет; прежний подписывает вместе с ним ещё сутки.",
        "Gives a new secret; the last one signs beside it for another day.",
    ),
    Scope.WEBHOOKS,
    message=_words("rotated"),
    answer=ENDPOINT_WITH_SECRET,
    refusals=(Error.NOT_FOUND,),
)
TEST = Call(
    "POST",
    "/webhooks/{id}/test",
    "testWebhook",
    ("Прислать пример", "Send an example"),
    (
        "Присылает пример события, подписанный как настоящее, с `example: true`.",
        "Sends an example of an event, signed like a real one, with `example: true`.",
    ),
    Scope.WEBHOOKS,
    message=_words("example"),
    body=(
        Field(
            "type",
            nullable(EVENT_TYPES),
            (
                "Какое событие. По умолчанию первое из тех, что заказаны.",
                "Which event; by default the first one the endpoint asked for.",
            ),
            required=False,
        ),
        Field(
            "event",
            nullable(EVENT_TYPES),
            ("То же, что `type`.", "The same as `type`."),
            required=False,
        ),
    ),
    answer=(
        Field(
            "id",
            identifier("dlv"),
            ("Идентификатор доставки.", "The delivery's id."),
            "dlv_0192f0c1a6dc7a4b9c5d6e7f80910213",
        ),
        Field(
            "event_id",
            identifier("evt"),
            (
                "Идентификатор события, он же `webhook-id`.",
                "The event's id, which is `webhook-id`.",
            ),
            "evt_0192f0c1a6dd7b5c8d6e7f8091021324",
        ),
        Field("type", EVENT_TYPES, ("Что это за событие.", "Which event it is."), KINDS[0]),
        Field("event", EVENT_TYPES, ("То же, что `type`.", "The same as `type`."), KINDS[0]),
    ),
    refusals=(Error.INVALID_INPUT, Error.NOT_FOUND),
)

CALLS = (LIST, CREATE, GET, CHANGE, DELETE, ROTATE, TEST)
