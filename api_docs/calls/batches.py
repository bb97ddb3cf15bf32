"""Many links made at once, and what can be done with them together, written down."""

from accounts.models import Scope
from api_docs.calls.common_fields import EXPIRES_AT, EXPIRES_IN
from api_docs.calls.link_fields import (
    BATCH_ID,
    LINK_ID,
    NEW_LINK,
    REUSED,
    SHORTENED_URL,
    SLUG,
    TARGET,
)
from api_docs.calls.shapes import Call, Field, Shape, array, boolean, identifier, nullable, text
from config.errors import Error, Words
from links.make import bulk
from links.web.link_api import WORDS


def _words(name: str) -> Words:
    return WORDS[name]["ru"], WORDS[name]["en"]


_MADE = {
    "success": True,
    LINK_ID.name: LINK_ID.example,
    SHORTENED_URL.name: SHORTENED_URL.example,
    SLUG.name: SLUG.example,
    TARGET.name: TARGET.example,
    EXPIRES_AT.name: None,
    EXPIRES_IN.name: None,
    REUSED.name: False,
}


def _results(language: str) -> list[dict[str, object]]:
    refused = {
        "success": False,
        "code": Error.ALIAS_TAKEN.code,
        "message": Error.ALIAS_TAKEN.words(language),
    }
    return [_MADE, refused]


RESULT = Shape(
    "LinkResult",
    (
        Field("success", boolean(), ("Создана ли эта.", "Whether this one was made."), True),
        *(
            one.optional()
            for one in (LINK_ID, SHORTENED_URL, SLUG, TARGET, EXPIRES_AT, EXPIRES_IN, REUSED)
        ),
        Field(
            "code",
            text(),
            ("Код ошибки, если не создана.", "The error code, if it was not made."),
            required=False,
        ),
        Field(
            "message", text(), ("Что не так, словами.", "What is wrong, in words."), required=False
        ),
        Field(
            "errors",
            {"type": "object", "additionalProperties": array(text())},
            ("Поле → что с ним не так.", "Field → what is wrong with it."),
            required=False,
        ),
    ),
)
BULK = Call(
    "POST",
    "/links/bulk",
    "shortenLinks",
    ("Сократить много ссылок", "Shorten many links"),
    (
        "Делает короткие ссылки пачкой. У каждой свой результат: ошибка в одной не мешает другим. "
        "Токены не списываются.",
        "Makes short links in one request. Each has a result of its own: a fault in one does not "
        "hinder the others. It costs no tokens.",
    ),
    Scope.LINKS,
    page="links",
    message=("Ссылок создано: 1 из 2", "Links made: 1 of 2"),
    body=(
        Field(
            "links",
            array() | {"minItems": 1, "maxItems": bulk.MAX_LINKS},
            (
                f"Что сократить: от 1 до {bulk.MAX_LINKS}.",
                f"What to shorten: 1 to {bulk.MAX_LINKS}.",
            ),
            [{"url": TARGET.example}, {"url": TARGET.example, "alias": "sale"}],
            fields=NEW_LINK,
        ),
    ),
    answer=(
        Field(
            "batch",
            nullable(identifier("bat")),
            (
                "Пакет созданных ссылок; `null`, если новых нет.",
                "The batch of what was made; `null` when nothing new was.",
            ),
            BATCH_ID,
        ),
        Field(
            "data",
            array(),
            ("Результаты в порядке запроса.", "A result for each, in the order asked for."),
            (_results("ru"), _results("en")),
            fields=RESULT,
        ),
    ),
    refusals=(Error.INVALID_INPUT,),
)

BATCH = Field("batch", identifier("bat"), ("Пакет.", "The batch."), BATCH_ID)
STOP = Call(
    "DELETE",
    "/batches/{id}",
    "stopBatch",
    ("Остановить пакет ссылок", "Stop a batch of links"),
    (
        "Через секунду ни одна ссылка пакета не открывается: все отвечают 410. Сами ссылки не "
        "меняются.",
        "Within a second no link of the batch opens: all answer 410. The links themselves stay as "
        "they are.",
    ),
    Scope.LINKS,
    page="links",
    message=_words("stopped"),
    answer=(BATCH,),
    refusals=(Error.NOT_FOUND,),
)
RELEASE = Call(
    "POST",
    "/batches/{id}/release",
    "releaseBatch",
    ("Снова открыть пакет", "Release a batch of links"),
    (
        "Ссылки пакета снова открываются, кроме выключенных поодиночке и истёкших.",
        "The links of the batch open again, but for those disabled one by one or expired.",
    ),
    Scope.LINKS,
    page="links",
    message=_words("released"),
    answer=(BATCH,),
    refusals=(Error.NOT_FOUND,),
)

CALLS = (BULK, STOP, RELEASE)
