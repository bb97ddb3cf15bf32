"""Headers of answers, as the schema has them."""

from collections.abc import Iterable

from api_docs.calls.common_fields import REQUEST_ID
from api_docs.calls.shapes import Call, Schema, integer, text, worded
from api_docs.schema.error_advice import ADVICE
from config.errors import Error, Words

HEADERS: dict[str, tuple[Words, Schema, str | int]] = {
    "X-Request-Id": (
        ("Номер запроса, он же в журналах.", "The request's id, also in the logs."),
        REQUEST_ID.schema,
        REQUEST_ID.example,
    ),
    "RateLimit-Policy": (
        (
            "Сколько запросов даётся ключу: `q` за `w` секунд. Есть в каждом ответе ключу.",
            "What the key is given: `q` requests in `w` seconds. On every answer to a key.",
        ),
        text(pattern=r'^"key";q=\d+;w=\d+$'),
        '"key";q=1000;w=10',
    ),
    "RateLimit": (
        (
            "Сколько запросов осталось (`r`) и через сколько секунд счёт начнётся снова (`t`).",
            "How many requests are left (`r`), and when the count starts anew (`t` seconds).",
        ),
        text(pattern=r'^"key";r=\d+;t=\d+$'),
        '"key";r=998;t=7',
    ),
    "Idempotent-Replayed": (
        (
            "`true`, когда это ответ более раннего запроса с тем же `Idempotency-Key`.",
            "`true` when this is the answer of an earlier request with the same `Idempotency-Key`.",
        ),
        text(enum=["true"]),
        "true",
    ),
    "Retry-After": (
        (
            "Через сколько секунд повторить. Нет, если ждать бесполезно.",
            "Seconds to wait before a repeat. Absent where waiting does not help.",
        ),
        integer(1),
        42,
    ),
    "WWW-Authenticate": (
        ("Каким должен быть ключ: `Bearer`.", "How to send the key: `Bearer`."),
        text(),
        "Bearer",
    ),
}
_ALWAYS = ("X-Request-Id", "RateLimit-Policy", "RateLimit")


def of_success(call: Call) -> dict[str, Schema]:
    return _referred([*_ALWAYS, *_replayed(call)])


def of_refusals(call: Call, errors: Iterable[Error]) -> dict[str, Schema]:
    """Of answers of one status: no rate is told to whoever has no key."""
    if Error.INVALID_API_KEY in errors:
        return _referred(["X-Request-Id", "WWW-Authenticate"])
    waits = any("retry_after" in ADVICE[one].extra for one in errors)
    kept = any(one.status in {409, 422, 502} for one in errors)
    return _referred(
        [*_ALWAYS, *(["Retry-After"] if waits else []), *(_replayed(call) if kept else [])]
    )


def _replayed(call: Call) -> list[str]:
    return ["Idempotent-Replayed"] if call.method == "POST" else []


def _referred(names: Iterable[str]) -> dict[str, Schema]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def components(language: str) -> dict[str, Schema]:
    return {
        name: {"description": worded(words, language), "schema": schema, "example": example}
        for name, (words, schema, example) in HEADERS.items()
    }
