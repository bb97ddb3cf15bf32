"""The OpenAPI schema, made of the same tables as the pages. Nothing here runs in a call.

drf-spectacular finds the routes and checks the whole; what an operation says comes from
`api_docs.calls`, since the views have no serializers to look into.
"""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.utils.translation import get_language
from drf_spectacular.drainage import warn
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentRegistry

from accounts.models import Scope
from api_docs.calls import BY_ROUTE, CALLS
from api_docs.calls.common_fields import REQUEST_ID
from api_docs.calls.shapes import Call, Field, Schema, example_of, object_of, worded
from api_docs.schema import headers, webhooks
from api_docs.schema.components import Components, reference
from api_docs.schema.error_advice import ADVICE
from api_docs.schema.webhook_payloads import PAYLOADS
from config.errors import Error, Words

PREFIX = "/api/v1"
Endpoint = tuple[str, str, str, Callable[..., Any]]

TAGS: dict[str, tuple[Words, Words]] = {  # by a call's scope, in the order Swagger UI shows them
    "otp": (
        ("Коды", "Codes"),
        ("Отправить одноразовый код и проверить его.", "Send a one-time code and verify it."),
    ),
    "links": (
        ("Ссылки", "Links"),
        ("Короткие ссылки: создать, отправить, сосчитать переходы.", "Make, send, count clicks."),
    ),
    "messages": (
        ("История", "History"),
        ("Что отправлено и что с этим стало.", "What was sent and what became of it."),
    ),
    "": (("Каналы", "Channels"), ("Цены и возможности каналов.", "Prices and capabilities.")),
    "balance": (("Баланс", "Balance"), ("Сколько токенов есть.", "The tokens there are.")),
    "top_up": (("Пополнение", "Top-up"), ("Купить токены.", "Buy tokens.")),
    "webhooks": (
        ("Вебхуки", "Webhooks"),
        ("Адреса, на которые приходят события, и сами события.", "Endpoints, and their events."),
    ),
}
DESCRIPTION = (
    "Одноразовые коды и короткие ссылки в WhatsApp, Telegram и SMS. Списывается только "
    "доставленное.\n\nКаждый ответ — JSON с полями `success` и `message`. Неизвестные поля запроса "
    "не мешают, в ответах могут появляться новые поля.",
    "One-time codes and short links by WhatsApp, Telegram and SMS. Only what was delivered is "
    "charged.\n\nEvery answer is JSON with `success` and `message`. Unknown request fields are "
    "ignored, new answer fields may appear.",
)
KEY_WORDS = (
    "API-ключ из кабинета: `kv_test_…` или `kv_live_…`.",
    "An API key from the cabinet: `kv_test_…` or `kv_live_…`.",
)
IDEMPOTENCY_WORDS = (
    "Своё имя этого действия, до 255 символов ASCII. Повтор с тем же ключом в течение 24 часов "
    "вернёт тот же ответ и ничего не сделает второй раз.",
    "Your own name for this action, up to 255 ASCII characters. A repeat with the same key within "
    "24 hours returns the same answer and does nothing twice.",
)
LANGUAGE_WORDS = (
    "Язык поля `message`: русский, если не указан `en`.",
    "The language of `message`: Russian unless `en` is asked for.",
)


def language() -> str:
    return "en" if get_language() == "en" else "ru"


def only_calls(endpoints: list[Endpoint]) -> list[Endpoint]:
    """A preprocessing hook: the public API alone, its paths without the slash they tolerate."""
    return [
        (path.rstrip("/").replace("{public_id}", "{id}"), regex, method, view)
        for path, regex, method, view in endpoints
        if path.startswith(f"{PREFIX}/")
    ]


class CallSchema(AutoSchema):
    def get_operation(
        self,
        path: str,
        path_regex: str,
        path_prefix: str,
        method: str,
        registry: ComponentRegistry,
    ) -> dict[str, Any] | None:
        call = BY_ROUTE.get((method.upper(), path.removeprefix(PREFIX)))
        if call is None:
            warn(f"{method} {path} is not described in api_docs.calls")
            return None
        return operation(call, language())


def operation(call: Call, language: str) -> dict[str, Any]:
    made = {
        "operationId": call.name,
        "summary": worded(call.title, language),
        "description": worded(call.purpose, language),
        "tags": [tag(call.scope, language)],
        "security": [{"apiKey": []}],
        "externalDocs": {"url": f"{settings.PUBLIC_URL}/docs/{call.page}"},
        "parameters": parameters(call, language),
        "responses": responses(call, language),
    }
    if call.has_body:
        made["requestBody"] = request_body(call, language)
    return made


def tag(scope: Scope | None, language: str) -> str:
    title, _words = TAGS[scope.value if scope else ""]
    return title[1 if language == "en" else 0]


def parameters(call: Call, language: str) -> list[Schema]:
    names = [part[1:-1] for part in call.path.split("/") if part.startswith("{")]
    found = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in names
    ]
    found += [_in_query(field, language) for field in call.query]
    found.append(_header("Accept-Language", LANGUAGE_WORDS, language, {"type": "string"}))
    if call.method == "POST":
        limits = {"type": "string", "minLength": 1, "maxLength": 255}
        found.append(_header("Idempotency-Key", IDEMPOTENCY_WORDS, language, limits))
    return found


def _in_query(field: Field, language: str) -> Schema:
    schema = Components(language).value_of(field.schema)
    words = worded(field.words, language)
    return {"name": field.name, "in": "query", "description": words, "schema": schema}


def _header(name: str, words: tuple[str, str], language: str, schema: Schema) -> Schema:
    return {
        "name": name,
        "in": "header",
        "description": worded(words, language),
        "schema": schema,
    }


def request_body(call: Call, language: str) -> Schema:
    media: Schema = {"schema": Components(language).request(call)}
    if call.body:
        media["example"] = call.request_example()
    is_required = bool(call.one_of) or any(field.required for field in call.body)
    return {"required": is_required, "content": {"application/json": media}}


def responses(call: Call, language: str) -> dict[str, Schema]:
    by_status: dict[str, list[Error]] = {}
    for error in call.errors:
        by_status.setdefault(str(error.status.value), []).append(error)
    refused = {status: _refused(call, errors, language) for status, errors in by_status.items()}
    return {"200": _answered(call, language)} | refused


def _answered(call: Call, language: str) -> Schema:
    return {
        "description": worded(call.message, language),
        "headers": headers.of_success(call),
        "content": {
            "application/json": {
                "schema": Components(language).answer(call),
                "example": call.answer_example(language),
            }
        },
    }


def _refused(call: Call, errors: list[Error], language: str) -> Schema:
    return {
        "description": " · ".join(error.code for error in errors),
        "headers": headers.of_refusals(call, errors),
        "content": {
            "application/json": {
                "schema": reference("Error"),
                "examples": {
                    error.code: {"value": refusal_example(error, language)} for error in errors
                },
            }
        },
    }


EXTRAS = (
    Field(
        "errors",
        {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
        ("Поле → что с ним не так.", "Field → what is wrong with it."),
        {"phone": ["…"]},
    ),
    Field(
        "retry_after",
        {"type": "integer", "minimum": 1},
        ("Через сколько секунд повторить.", "Seconds to wait before a repeat."),
        42,
    ),
    Field(
        "limit",
        {"type": "object"},
        ("Какой предел достигнут.", "Which limit is reached."),
        fields=(
            Field(
                "kind",
                {"type": "string"},
                (
                    "`phone` — предел компании на этот номер, `phone_all_companies` — предел "
                    "номера для всех компаний вместе, `budget_day` — бюджет компании на день, "
                    "`budget_country_hour` — на час для страны.",
                    "`phone`: the company's limit for this number, `phone_all_companies`: that of "
                    "the number for all companies together, `budget_day`: the company's budget "
                    "for a day, `budget_country_hour`: that for an hour and country.",
                ),
                "budget_country_hour",
            ),
            Field(
                "country",
                {"type": "string"},
                ("Страна бюджета.", "The budget's country."),
                "SO",
                required=False,
            ),
            Field(
                "tokens",
                {"type": "integer", "minimum": 0},
                ("Токенов в бюджете.", "The tokens of the budget."),
                800,
                required=False,
            ),
            Field(
                "resets_at",
                {"type": "string", "format": "date-time"},
                (
                    "Когда бюджет начнётся заново; нет, если он меньше цены одного сообщения.",
                    "When the budget begins anew; absent where it is below one message's price.",
                ),
                "2026-11-22T15:00:00Z",
                required=False,
            ),
        ),
    ),
    Field(
        "country",
        {"type": "string"},
        ("Страна номера, ISO 3166.", "The number's country, ISO 3166."),
        "SO",
    ),
    Field(
        "required",
        {"type": "integer"},
        ("Сколько токенов нужно.", "Tokens the send needs."),
        16,
    ),
    Field(
        "available",
        {"type": "integer"},
        ("Сколько токенов есть.", "Tokens there are."),
        3,
    ),
    Field(
        "attempts_left",
        {"type": "integer", "minimum": 0},
        ("Сколько попыток осталось.", "Attempts that remain."),
        4,
    ),
    Field(
        "id",
        {"type": "string"},
        ("Сообщение, которое не доставлено.", "The message that was not delivered."),
        "msg_0192f0c1a6d87b3e9c4f5a6b7c8d9e0f",
    ),
    Field(
        "channel",
        {"type": "string"},
        ("Канал, которым его отправляли.", "The channel it was sent by."),
        "telegram",
    ),
    Field(
        "action_url",
        {"type": "string", "format": "uri"},
        (
            "Что открыть человеку, чтобы ему можно было писать.",
            "What the person has to open, so that they can be written to.",
        ),
        "https://t.me/kvitok_bot?start=contact",
    ),
)
KNOWN_CODES = [error.code for error in Error]
_KNOWN = ", ".join(f"`{code}`" for code in KNOWN_CODES)
_FAULTS = {
    Error.INVALID_INPUT: {"phone": [("Обязательное поле", "This field is required")]},
    Error.URL_NOT_ALLOWED: {
        "url": [
            (
                "Ссылки на IP-адрес не принимаются, укажите имя сайта",
                "A URL with an IP address is not accepted; use a host name",
            )
        ]
    },
}


def refusal_example(error: Error, language: str) -> dict[str, Any]:
    extra = ADVICE[error].extra if error in ADVICE else ()
    body: dict[str, Any] = {
        "success": False,
        "code": error.code,
        "message": error.words(language),
    }
    body |= example_of(tuple(one for one in EXTRAS if one.name in extra), language)
    if "errors" in extra:
        faults = _FAULTS[error]
        body["errors"] = {name: [worded(w, language) for w in ws] for name, ws in faults.items()}
    return body | {"request_id": REQUEST_ID.example}


def add_components(result: Schema, **_: Any) -> Schema:
    """A postprocessing hook: the envelope, the events, the key and the address, in the reader's
    language.
    """
    chosen = language()
    result["info"]["description"] = worded(DESCRIPTION, chosen)
    result["info"]["contact"] = {"name": "Kvitok", "url": f"{settings.PUBLIC_URL}/docs"}
    result["tags"] = [
        {"name": worded(title, chosen), "description": worded(words, chosen)}
        for title, words in TAGS.values()
    ]
    result["servers"] = [{"url": settings.PUBLIC_URL + PREFIX}]
    result["webhooks"] = webhooks.posts(chosen, tag(Scope.WEBHOOKS, chosen))
    result["components"] = {
        "schemas": schemas(chosen),
        "headers": headers.components(chosen),
        "securitySchemes": {
            "apiKey": {
                "type": "http",
                "scheme": "bearer",
                "description": worded(KEY_WORDS, chosen),
            }
        },
    }
    return result


def schemas(language: str) -> dict[str, Schema]:
    """Every component there is: of the calls, of the events, and the envelope."""
    found = Components(language)
    found.add("Envelope", success_schema(language))
    found.add("Error", error_schema(language))
    for call in CALLS:
        for field in call.query:
            found.value_of(field.schema)
        if call.has_body:
            found.request(call)
        found.answer(call)
    for payload in PAYLOADS:
        found.object_of(payload.shape)
    return found.schemas


def success_schema(language: str) -> Schema:
    return _envelope({"type": "boolean", "const": True}, (), language)


def error_schema(language: str) -> Schema:
    code = Field(
        "code",
        {"type": "string", "pattern": "^[a-z][a-z_]*$", "x-extensible-enum": KNOWN_CODES},
        (
            f"Код ошибки: по нему и решайте. Сейчас это {_KNOWN}. Появятся и новые: незнакомый код "
            "толкуйте по статусу ответа.",
            f"The error code: decide by it. Today it is one of {_KNOWN}. New ones will come: treat "
            "an unknown code by the status of the answer.",
        ),
    )
    request_id = Field("request_id", REQUEST_ID.schema, ("Номер запроса.", "The request's id."))
    extras = tuple(field.optional() for field in EXTRAS)
    return _envelope({"type": "boolean", "const": False}, (code, request_id, *extras), language)


def _envelope(success: Schema, fields: tuple[Field, ...], language: str) -> Schema:
    words = ("Получилось ли.", "Whether it worked.")
    message = ("Что произошло, для человека.", "What happened, for a person.")
    return object_of(
        (Field("success", success, words), Field("message", {"type": "string"}, message), *fields),
        language,
    )
