"""Links once they are made, and many made at once, written down."""

from dataclasses import replace

from accounts.models import Scope
from config.errors import Error, Words
from links import bulk, stats
from links.link_api import INTERVALS, STATES, WORDS
from reference.calls.fields import (
    ALIAS,
    CURSOR,
    EXPIRES_AT,
    EXPIRES_IN,
    HAS_MORE,
    LIMIT,
    LINK_LIFETIME,
    NEXT_CURSOR,
    TEST,
    URL,
)
from reference.calls.links import LINK_ID, SHORTENED_URL, SLUG, TARGET
from reference.shapes import (
    Call,
    Field,
    array,
    boolean,
    choice,
    integer,
    nullable,
    text,
    time,
)


def _moment(name: str, russian: str, english: str, example: str | None) -> Field:
    return Field(name, nullable(time()), (russian, english), example)


def _count(name: str, russian: str, english: str, example: int) -> Field:
    return Field(name, integer(0), (russian, english), example)


def _words(name: str) -> Words:
    return WORDS[name]["ru"], WORDS[name]["en"]


FIRST_CLICK, LAST_CLICK = "2026-11-20T10:17:40.512Z", "2026-11-20T18:02:05.004Z"
COUNTS = (
    _count("clicks", "Переходы людей.", "Clicks by people.", 42),
    _count(
        "previews",
        "Запросы мессенджеров и браузеров заранее: предпросмотр, предзагрузка.",
        "Fetches ahead of a person: messengers' previews, browsers' prefetching.",
        7,
    ),
    _count("scanners", "Роботы, антивирусы, скрипты.", "Robots, virus scanners, scripts.", 3),
)
CLICK_TIMES = (
    _moment("first_click_at", "Первый переход человека.", "A person's first click.", FIRST_CLICK),
    _moment("last_click_at", "Последний переход человека.", "A person's last click.", LAST_CLICK),
)
STATE = Field(
    "state",
    choice(STATES),
    ("Работает, вышел срок или выключена.", "It works, its time is over, or it was disabled."),
    "active",
)
LINK = (
    LINK_ID,
    SHORTENED_URL,
    SLUG,
    TARGET,
    EXPIRES_AT,
    Field("alias", nullable(text()), ("Имя, если его задали вы.", "Your own name for it."), None),
    STATE,
    TEST,
    Field(
        "created_at", time(), ("Когда создана.", "When it was made."), "2026-11-20T10:15:12.044Z"
    ),
    *COUNTS,
    *CLICK_TIMES,
)
NEW_URL = replace(URL, schema=nullable(URL.schema), required=False)
NEW_LIFETIME = replace(
    LINK_LIFETIME,
    words=(
        "Через сколько секунд от этого запроса она перестанет открываться; и та, срок которой "
        "вышел, снова заработает.",
        "After how many seconds from now it stops working; one that has expired works again.",
    ),
)

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
        Field("state", choice(STATES), ("Состояние.", "The state."), required=False),
        Field("slug", text(), ("Имя ссылки.", "The slug or alias."), required=False),
        Field(
            "from", time(), ("Создана не раньше.", "Made at this time or later."), required=False
        ),
        Field("to", time(), ("Создана раньше.", "Made before this time."), required=False),
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

POINT = (
    Field(
        "at",
        time(),
        ("Начало дня или часа.", "When the day or the hour begins."),
        "2026-11-19T21:00:00Z",
    ),
    *COUNTS,
)


def _breakdown(name: str, russian: str, english: str, example: str) -> Field:
    rows = (
        Field("name", nullable(text()), ("`null` — неизвестно.", "`null`: unknown."), example),
        COUNTS[0],
    )
    return Field(name, array(), (russian, english), fields=rows)


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
            choice(INTERVALS),
            (
                f"Шаг. По дням — до {stats.DAYS} дней, по умолчанию 30; по часам — до "
                f"{stats.HOURS // 24} дней, по умолчанию 48 часов.",
                f"The step. By day up to {stats.DAYS} days, 30 by default; by hour up to "
                f"{stats.HOURS // 24} days, 48 hours by default.",
            ),
            required=False,
        ),
        Field("from", time(), ("С какого времени.", "Since when."), required=False),
        Field("to", time(), ("До какого; по умолчанию до сейчас.", "Until when."), required=False),
    ),
    answer=(
        LINK_ID,
        *COUNTS,
        *CLICK_TIMES,
        Field("interval", choice(INTERVALS), ("Шаг.", "The step."), "day"),
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
    refusals=(Error.INVALID_INPUT, Error.NOT_FOUND),
)

_MADE = {
    "success": True,
    LINK_ID.name: LINK_ID.example,
    SHORTENED_URL.name: SHORTENED_URL.example,
    SLUG.name: SLUG.example,
    TARGET.name: TARGET.example,
    EXPIRES_AT.name: None,
    EXPIRES_IN.name: None,
}


def _results(language: str) -> list[dict[str, object]]:
    refused = {
        "success": False,
        "code": Error.ALIAS_TAKEN.code,
        "message": Error.ALIAS_TAKEN.words(language),
    }
    return [_MADE, refused]


RESULT = (
    Field("success", boolean(), ("Создана ли эта.", "Whether this one was made."), True),
    *(one.optional() for one in (LINK_ID, SHORTENED_URL, SLUG, TARGET, EXPIRES_AT, EXPIRES_IN)),
    Field(
        "code",
        text(),
        ("Код ошибки, если не создана.", "The error code, if it was not made."),
        required=False,
    ),
    Field("message", text(), ("Что не так, словами.", "What is wrong, in words."), required=False),
    Field(
        "errors",
        {"type": "object", "additionalProperties": array(text())},
        ("Поле → что с ним не так.", "Field → what is wrong with it."),
        required=False,
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
            array() | {"minItems": 1, "maxItems": bulk.MOST},
            (f"Что сократить: от 1 до {bulk.MOST}.", f"What to shorten: 1 to {bulk.MOST}."),
            [{"url": TARGET.example}, {"url": TARGET.example, "alias": "sale"}],
            fields=(URL, ALIAS, LINK_LIFETIME),
        ),
    ),
    answer=(
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

CALLS = (BULK, LIST, GET, CHANGE, DISABLE, STATS)
