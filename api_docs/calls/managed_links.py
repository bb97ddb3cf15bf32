"""Links once they are made, written down."""

from accounts.models import Scope
from api_docs.calls.common_fields import CURSOR, HAS_MORE, LIMIT, NEXT_CURSOR
from api_docs.calls.link_fields import (
    CLICK_TIMES,
    COUNTS,
    LINK,
    LINK_ID,
    NEW_EXPIRED_URL,
    NEW_LIFETIME,
    NEW_TAGS,
    NEW_URL,
    STATE_NAMES,
)
from api_docs.calls.shapes import (
    Call,
    Field,
    Shape,
    array,
    boolean,
    choice,
    nullable,
    text,
    time,
    time_or_day,
)
from config.errors import Error, Words
from links.clicks import statistics
from links.web.link_api import INTERVALS, WORDS

INTERVAL_NAMES = choice(INTERVALS, "StatsInterval")


def _words(name: str) -> Words:
    return WORDS[name]["ru"], WORDS[name]["en"]


LIST = Call(
    "GET",
    "/links",
    "listLinks",
    ("Ссылки", "Links"),
    (
        "Ссылки компании в режиме ключа, новые первыми.",
        "The company's links in the key's mode, newest first.",
    ),
    Scope.LINKS,
    page="links",
    message=_words("list"),
    query=(
        Field("state", STATE_NAMES, ("Состояние.", "The state."), required=False),
        Field("slug", text(), ("Имя ссылки.", "The slug or alias."), required=False),
        Field(
            "batch",
            text(),
            ("Пакет, в котором созданы.", "The batch they were made in."),
            required=False,
        ),
        Field(
            "from",
            time_or_day(),
            ("Созданы не раньше, ISO 8601.", "Made then or later, ISO 8601."),
            required=False,
        ),
        Field(
            "to",
            time_or_day(),
            ("Созданы раньше, ISO 8601.", "Made before then, ISO 8601."),
            required=False,
        ),
        LIMIT,
        CURSOR,
    ),
    answer=(
        Field("data", array(), ("Ссылки.", "Links."), fields=LINK),
        HAS_MORE,
        NEXT_CURSOR,
    ),
    refusals=(Error.INVALID_INPUT,),
)
GET = Call(
    "GET",
    "/links/{id}",
    "getLink",
    ("Одна ссылка", "One link"),
    ("Ссылка, её состояние и сколько раз её открыли.", "A link, its state and its clicks."),
    Scope.LINKS,
    page="links",
    message=_words("one"),
    answer=LINK,
    refusals=(Error.NOT_FOUND,),
)
CHANGE = Call(
    "PATCH",
    "/links/{id}",
    "changeLink",
    ("Изменить ссылку", "Change a link"),
    (
        "Меняет то, что передано; остальное остаётся как было. Короткая ссылка та же, новое "
        "действует в течение секунды.",
        "Changes what is given; the rest stays as it was. The short link is the same, the change "
        "holds within a second.",
    ),
    Scope.LINKS,
    page="links",
    message=_words("changed"),
    body=(
        NEW_URL,
        NEW_LIFETIME,
        Field(
            "never_expires",
            nullable(boolean()),
            (
                "`true` — бессрочная; вместе с `expires_in` не передаётся.",
                "`true`: for ever; not together with `expires_in`.",
            ),
            required=False,
        ),
        Field(
            "enabled",
            nullable(boolean()),
            ("Выключить или снова включить.", "Disables it, or enables it again."),
            required=False,
        ),
        NEW_EXPIRED_URL,
        NEW_TAGS,
    ),
    answer=LINK,
    refusals=(
        Error.INVALID_INPUT,
        Error.NOT_FOUND,
        Error.URL_NOT_ALLOWED,
        Error.ALIAS_TAKEN,
    ),
)
DISABLE = Call(
    "DELETE",
    "/links/{id}",
    "disableLink",
    ("Выключить ссылку", "Disable a link"),
    (
        "Через секунду ссылка отвечает 410. Статистика остаётся; включить снова можно через "
        "`PATCH`.",
        "Within a second the link answers 410. Its counts stay; `PATCH` enables it again.",
    ),
    Scope.LINKS,
    page="links",
    message=_words("disabled"),
    answer=LINK,
    refusals=(Error.NOT_FOUND,),
)

POINT = Shape(
    "ClickCounts",
    (
        Field(
            "at",
            time(),
            ("Начало дня или часа.", "When the day or the hour begins."),
            "2026-11-19T21:00:00Z",
        ),
        *COUNTS,
    ),
)


def _breakdown(name: str, russian: str, english: str, example: str) -> Field:
    rows = Shape(
        "ClickBreakdown",
        (
            Field("name", nullable(text()), ("`null` — неизвестно.", "`null`: unknown."), example),
            COUNTS[0],
        ),
    )
    return Field(name, array(), (russian, english), fields=rows)


LINK_STATS = Shape(
    "LinkStats",
    (
        LINK_ID,
        *COUNTS,
        *CLICK_TIMES,
        Field("interval", INTERVAL_NAMES, ("Шаг.", "The step."), "day"),
        Field(
            "series",
            array(),
            ("По порядку, пустые дни и часы тоже.", "In order, empty steps as well."),
            fields=POINT,
        ),
        _breakdown(
            "referrers",
            "С каких сайтов пришли люди: десять самых частых.",
            "The sites people came from, the ten most frequent.",
            "shop.example",
        ),
        _breakdown("devices", "На каких устройствах.", "By the device's system.", "android"),
        _breakdown(
            "countries",
            "Из каких стран, двумя буквами.",
            "From which countries, two letters each.",
            "KZ",
        ),
    ),
)
STATS = Call(
    "GET",
    "/links/{id}/stats",
    "getLinkStats",
    ("Переходы по ссылке", "Clicks on a link"),
    (
        "Сколько раз ссылку открыли по дням или часам, и с чем приходили люди.",
        "How often the link was followed by day or by hour, and what people came with.",
    ),
    Scope.LINKS,
    page="links",
    message=_words("stats"),
    query=(
        Field(
            "interval",
            INTERVAL_NAMES,
            (
                f"Шаг. По дням — до {statistics.MAX_DAYS} дней, по умолчанию 30; по часам — до "
                f"{statistics.MAX_HOURS // 24} дней, по умолчанию 48 часов.",
                f"The step. By day up to {statistics.MAX_DAYS} days, 30 by default; by hour up to "
                f"{statistics.MAX_HOURS // 24} days, 48 hours by default.",
            ),
            required=False,
        ),
        Field(
            "from",
            time_or_day(),
            ("С какого времени, ISO 8601.", "Since when, ISO 8601."),
            required=False,
        ),
        Field(
            "to",
            time_or_day(),
            (
                "До какого, ISO 8601; по умолчанию до сейчас.",
                "Until when, ISO 8601; now by default.",
            ),
            required=False,
        ),
    ),
    answer=LINK_STATS,
    refusals=(Error.INVALID_INPUT, Error.NOT_FOUND),
)

CALLS = (LIST, GET, CHANGE, DISABLE, STATS)
