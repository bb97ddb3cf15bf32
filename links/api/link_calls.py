"""The calls that list, show, change and disable links."""

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.models import Scope
from api.calls import (
    CURSOR,
    LIMIT,
    Call,
    Field,
    Shape,
    array,
    choice,
    nullable,
    page_of,
    text,
    time,
    time_or_day,
)
from catalogue.errors import Error
from catalogue.texts import StrOrPromise
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


WITH_STATE = Field("state", STATE_NAMES, _("Only links in this state."), required=False)
WITH_SLUG = Field("slug", text(), _("Only the link with this slug or alias."), required=False)
OF_BATCH = Field("batch", text(), _("Only links of this batch."), required=False)
CREATED_FROM = Field(
    "from",
    time_or_day(),
    _("Only links created at or after this time, in ISO 8601 format."),
    required=False,
)
CREATED_TO = Field(
    "to",
    time_or_day(),
    _("Only links created before this time, in ISO 8601 format."),
    required=False,
)
LIST = Call(
    "GET",
    "/links",
    "listLinks",
    _("Links"),
    _("Lists the company's links in the key's mode, newest first."),
    Scope.LINKS,
    page="links",
    message=_("Short links"),
    query=(WITH_STATE, WITH_SLUG, OF_BATCH, CREATED_FROM, CREATED_TO, LIMIT, CURSOR),
    answer=page_of(LINK, _("The links, newest first.")),
    refusals=(Error.INVALID_INPUT,),
)
GET = Call(
    "GET",
    "/links/{id}",
    "getLink",
    _("Retrieve a link"),
    _("Returns a link with its state and click counts."),
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
        "Updates the fields that are given; other fields keep their values. The short link "
        "stays the same and changes take effect within a second."
    ),
    Scope.LINKS,
    page="links",
    message=_("The changes were saved"),
    body=(NEW_URL, NEW_LIFETIME, NEVER_EXPIRES, ENABLED, NEW_EXPIRED_URL, NEW_TAGS),
    answer=LINK,
    refusals=(Error.INVALID_INPUT, Error.NOT_FOUND, Error.URL_NOT_ALLOWED, Error.ALIAS_TAKEN),
)
DISABLE = Call(
    "DELETE",
    "/links/{id}",
    "disableLink",
    _("Disable a link"),
    _(
        "Disables a link: within a second it answers 410. Its click counts are kept; use "
        "`PATCH` to enable it again."
    ),
    Scope.LINKS,
    page="links",
    message=_("The link was disabled"),
    answer=LINK,
    own_example={"state": "disabled"},
    refusals=(Error.NOT_FOUND,),
)

POINT = Shape(
    "ClickCounts",
    (Field("at", time(), _("The start of the day or hour."), "2026-11-19T21:00:00Z"), *COUNTS),
)


def _breakdown(name: str, description: StrOrPromise, example: str) -> Field:
    rows = Shape(
        "ClickBreakdown",
        (Field("name", nullable(text()), _("The value; `null` if unknown."), example), COUNTS[0]),
    )
    return Field(name, array(), description, fields=rows)


COUNTED = (LINK_ID, *COUNTS, *CLICK_TIMES)
LINK_STATS = Shape(
    "LinkStats",
    (
        *COUNTED,
        Field("interval", INTERVAL_NAMES, _("The interval of the series."), "day"),
        Field(
            "series",
            array(),
            _("The counts per interval, oldest first, including intervals without clicks."),
            fields=POINT,
        ),
        _breakdown("referrers", _("The ten most frequent referring sites."), "shop.example"),
        _breakdown("devices", _("Clicks by operating system."), "android"),
        _breakdown("countries", _("Clicks by country, as ISO 3166 two-letter codes."), "KZ"),
    ),
)
INTERVAL = Field(
    "interval",
    INTERVAL_NAMES,
    format_lazy(
        _(
            "The interval of the series. Up to {days} days by day, 30 by default; up to "
            "{hourly_days} days by hour, 48 hours by default."
        ),
        days=statistics.MAX_DAYS,
        hourly_days=statistics.MAX_HOURS // 24,
    ),
    required=False,
)
CLICKS_FROM = Field(
    "from", time_or_day(), _("The start of the period, in ISO 8601 format."), required=False
)
CLICKS_TO = Field(
    "to",
    time_or_day(),
    _("The end of the period, in ISO 8601 format; now by default."),
    required=False,
)
STATS = Call(
    "GET",
    "/links/{id}/stats",
    "getLinkStats",
    _("Clicks on a link"),
    _("Returns click counts by day or by hour, with referring sites, devices and countries."),
    Scope.LINKS,
    page="links",
    message=_("Clicks on the link"),
    query=(INTERVAL, CLICKS_FROM, CLICKS_TO),
    answer=LINK_STATS,
    refusals=(Error.INVALID_INPUT, Error.NOT_FOUND),
)

CALLS = (LIST, GET, CHANGE, DISABLE, STATS)
