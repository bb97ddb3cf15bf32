"""Links once they are made, written down."""

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

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
from config.errors import Error
from config.texts import StrOrPromise
from links.clicks import statistics
from links.web.link_api import INTERVALS, WORDS

INTERVAL_NAMES = choice(INTERVALS, "StatsInterval")


LIST = Call(
    "GET",
    "/links",
    "listLinks",
    _("Links"),
    _("The company's links in the key's mode, newest first."),
    Scope.LINKS,
    page="links",
    message=WORDS["list"],
    query=(
        Field("state", STATE_NAMES, _("The state."), required=False),
        Field("slug", text(), _("The slug or alias."), required=False),
        Field(
            "batch",
            text(),
            _("The batch they were made in."),
            required=False,
        ),
        Field(
            "from",
            time_or_day(),
            _("Made then or later, ISO 8601."),
            required=False,
        ),
        Field(
            "to",
            time_or_day(),
            _("Made before then, ISO 8601."),
            required=False,
        ),
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
    message=WORDS["one"],
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
    message=WORDS["changed"],
    body=(
        NEW_URL,
        NEW_LIFETIME,
        Field(
            "never_expires",
            nullable(boolean()),
            _("`true`: for ever; not together with `expires_in`."),
            required=False,
        ),
        Field(
            "enabled",
            nullable(boolean()),
            _("Disables it, or enables it again."),
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
    _("Disable a link"),
    _("Within a second the link answers 410. Its counts stay; `PATCH` enables it again."),
    Scope.LINKS,
    page="links",
    message=WORDS["disabled"],
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
STATS = Call(
    "GET",
    "/links/{id}/stats",
    "getLinkStats",
    _("Clicks on a link"),
    _("How often the link was followed by day or by hour, and what people came with."),
    Scope.LINKS,
    page="links",
    message=WORDS["stats"],
    query=(
        Field(
            "interval",
            INTERVAL_NAMES,
            format_lazy(
                _(
                    "The step. By day up to {days} days, 30 by default; by hour up to "
                    "{hourly_days} days, 48 hours by default."
                ),
                days=statistics.MAX_DAYS,
                hourly_days=statistics.MAX_HOURS // 24,
            ),
            required=False,
        ),
        Field(
            "from",
            time_or_day(),
            _("Since when, ISO 8601."),
            required=False,
        ),
        Field(
            "to",
            time_or_day(),
            _("Until when, ISO 8601; now by default."),
            required=False,
        ),
    ),
    answer=LINK_STATS,
    refusals=(Error.INVALID_INPUT, Error.NOT_FOUND),
)

CALLS = (LIST, GET, CHANGE, DISABLE, STATS)
