"""The calls that list, show, change and disable links."""

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.api.calls import Call
from accounts.api.common_fields import CURSOR, HAS_MORE, LIMIT, NEXT_CURSOR
from accounts.api.fields import (
    Field,
    Shape,
    array,
    choice,
    nullable,
    text,
    time,
    time_or_day,
)
from accounts.models import Scope
from config.errors import Error
from config.texts import StrOrPromise
from links.api.fields import (
    CLICK_TIMES,
    COUNTS,
    ENABLED,
    LINK,
    LINK_ID,
    NEVER_EXPIRES,
    NEW_EXPIRED_URL,
    NEW_LIFETIME,
    NEW_TAGS,
    NEW_URL,
    STATE_NAMES,
)
from links.clicks import statistics

INTERVAL_NAMES = choice(["day", "hour"], "StatsInterval")


WITH_STATE = Field("state", STATE_NAMES, _("The state."), required=False)
WITH_SLUG = Field("slug", text(), _("The slug or alias."), required=False)
OF_BATCH = Field(
    "batch",
    text(),
    _("The batch they were made in."),
    required=False,
)
CREATED_FROM = Field(
    "from",
    time_or_day(),
    _("Made then or later, ISO 8601."),
    required=False,
)
CREATED_TO = Field(
    "to",
    time_or_day(),
    _("Made before then, ISO 8601."),
    required=False,
)
LIST = Call(
    "GET",
    "/links",
    "listLinks",
    _("Links"),
    _("The company's links in the key's mode, newest first."),
    Scope.LINKS,
    page="links",
    message=_("Short links"),
    query=(
        WITH_STATE,
        WITH_SLUG,
        OF_BATCH,
        CREATED_FROM,
        CREATED_TO,
        LIMIT,
        CURSOR,
    ),
    answer=(
        Field("data", array(), _("Links."), fields=LINK),
        HAS_MORE,
        NEXT_CURSOR,
    ),
    refusals=(Error.INVALID_INPUT,),
)
GET = Call(
    "GET",
    "/links/{id}",
    "getLink",
    _("One link"),
    _("A link, its state and its clicks."),
    Scope.LINKS,
    page="links",
    message=_("Short link"),
    answer=LINK,
    refusals=(Error.NOT_FOUND,),
)
CHANGE = Call(
    "PATCH",
    "/links/{id}",
    "changeLink",
    _("Change a link"),
    _(
        "Changes what is given; the rest stays as it was. The short link is the same, the change "
        "holds within a second."
    ),
    Scope.LINKS,
    page="links",
    message=_("The changes were saved"),
    body=(
        NEW_URL,
        NEW_LIFETIME,
        NEVER_EXPIRES,
        ENABLED,
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
    _("Disable a link"),
    _("Within a second the link answers 410. Its counts stay; `PATCH` enables it again."),
    Scope.LINKS,
    page="links",
    message=_("The link was disabled"),
    answer=LINK,
    refusals=(Error.NOT_FOUND,),
)

POINT = Shape(
    "ClickCounts",
    (
        Field(
            "at",
            time(),
            _("When the day or the hour begins."),
            "2026-11-19T21:00:00Z",
            source="at",
        ),
        *COUNTS,
    ),
)


def _breakdown(name: str, words: StrOrPromise, example: str) -> Field:
    rows = Shape(
        "ClickBreakdown",
        (
            Field("name", nullable(text()), _("`null`: unknown."), example),
            COUNTS[0],
        ),
    )
    return Field(name, array(), words, fields=rows)


LINK_STATS = Shape(
    "LinkStats",
    (
        LINK_ID,
        *COUNTS,
        *CLICK_TIMES,
        Field("interval", INTERVAL_NAMES, _("The step."), "day"),
        Field(
            "series",
            array(),
            _("In order, empty steps as well."),
            fields=POINT,
        ),
        _breakdown(
            "referrers",
            _("The sites people came from, the ten most frequent."),
            "shop.example",
        ),
        _breakdown("devices", _("By the device's system."), "android"),
        _breakdown(
            "countries",
            _("From which countries, two letters each."),
            "KZ",
        ),
    ),
)
INTERVAL = Field(
    "interval",
    INTERVAL_NAMES,
    format_lazy(
        _(
            "The step. By day up to {days} days, 30 by default; by hour up to {hourly_days} days, "
            "48 hours by default."
        ),
        days=statistics.MAX_DAYS,
        hourly_days=statistics.MAX_HOURS // 24,
    ),
    required=False,
)
CLICKS_FROM = Field(
    "from",
    time_or_day(),
    _("Since when, ISO 8601."),
    required=False,
)
CLICKS_TO = Field(
    "to",
    time_or_day(),
    _("Until when, ISO 8601; now by default."),
    required=False,
)
STATS = Call(
    "GET",
    "/links/{id}/stats",
    "getLinkStats",
    _("Clicks on a link"),
    _("How often the link was followed by day or by hour, and what people came with."),
    Scope.LINKS,
    page="links",
    message=_("Clicks on the link"),
    query=(
        INTERVAL,
        CLICKS_FROM,
        CLICKS_TO,
    ),
    answer=LINK_STATS,
    refusals=(Error.INVALID_INPUT, Error.NOT_FOUND),
)

CALLS = (LIST, GET, CHANGE, DISABLE, STATS)
