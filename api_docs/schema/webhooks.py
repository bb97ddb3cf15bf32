"""What the service posts to a company's endpoints, as the schema's `webhooks`."""

from typing import Any

from accounts.models import EventKind
from api_docs.calls.shapes import Schema, text, worded
from api_docs.schema import webhook_examples
from api_docs.schema.components import Components
from api_docs.schema.webhook_payloads import BY_KIND
from config.errors import Words

HEADERS: tuple[tuple[str, Words, Schema], ...] = (
    (
        "webhook-id",
        (
            "Идентификатор события. Повторы его не меняют: по нему отбрасывайте дубли.",
            "The event's id. Retries do not change it: drop duplicates by it.",
        ),
        text(minLength=1),
    ),
    (
        "webhook-timestamp",
        ("Время этой попытки, секунды Unix.", "When this try was made, in Unix seconds."),
        text(pattern=r"^\d+$"),
    ),
    (
        "webhook-signature",
        (
            "Подписи Standard Webhooks через пробел, каждая начинается с `v1,`.",
            "Signatures of Standard Webhooks, separated by spaces, each beginning with `v1,`.",
        ),
        text(pattern=r"^v1,\S+( v1,\S+)*$"),
    ),
)
TAKEN: Words = (
    "Принято. Любой другой ответ считается неудачей, и событие придёт ещё раз.",
    "Accepted. Any other answer is a failure, and the event comes again.",
)
GONE: Words = (
    "Адрес больше не нужен: он выключается.",
    "The endpoint is no longer wanted: it is switched off.",
)


def posts(language: str, tag: str) -> dict[str, Any]:
    return {kind.value: {"post": _post(kind, language, tag)} for kind in EventKind}


def _post(kind: EventKind, language: str, tag: str) -> dict[str, Any]:
    schema = Components(language).object_of(BY_KIND[kind].shape)
    example = webhook_examples.whole(kind)
    return {
        "operationId": _name(kind),
        "summary": kind.value,
        "description": worded(webhook_examples.WORDS[kind], language),
        "tags": [tag],
        "security": [],
        "parameters": [
            {
                "name": name,
                "in": "header",
                "required": True,
                "description": worded(words, language),
                "schema": schema,
            }
            for name, words, schema in HEADERS
        ],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": schema, "example": example}},
        },
        "responses": {
            "2XX": {"description": worded(TAKEN, language)},
            "410": {"description": worded(GONE, language)},
        },
    }


def _name(kind: EventKind) -> str:
    """`message.delivered` as an operation's id: `onMessageDelivered`."""
    words = kind.value.replace(".", "_").split("_")
    return "on" + "".join(word.title() for word in words)
