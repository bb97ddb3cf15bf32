"""Declares the calls that make, list, show, change and stop links, and the event of clicks."""

from datetime import datetime
from typing import Any

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.models import Scope
from api.calls import (
    CURSOR,
    LIMIT,
    TEST,
    Call,
    Field,
    Shape,
    array,
    boolean,
    choice,
    identifier,
    integer,
    nullable,
    page_of,
    text,
    time,
    time_or_day,
)
from catalogue.errors import Error
from catalogue.texts import StrOrPromise
from channels.models import stored_fields
from channels.web import fields as sending
from channels.web.status_texts import status_text
from links.addresses import target_urls
from links.api import fields, lifetime_fields
from links.clicks import statistics
from links.make.bulk import MAX_LINKS
from webhooks.events import EventDeclaration, iso
from webhooks.models import EventKind

SHORTEN = Call(
    "POST",
    "/links/shorten",
    "shortenLink",
    _("Shorten a link"),
    _("Creates a short link. It costs no tokens."),
    Scope.LINKS,
    page="shorten",
    message=_("The link was shortened"),
    body=fields.NEW_LINK,
    response=(*fields.ADDRESS, lifetime_fields.EXPIRES_IN, fields.REUSED),
    refusals=(Error.INVALID_INPUT, Error.URL_NOT_ALLOWED, Error.ALIAS_TAKEN),
)

SEND_LINK = Call(
    "POST",
    "/links/send",
    "sendLink",
    _("Send a link"),
    _("Shortens a URL and sends it to a phone number with your text."),
    Scope.LINKS,
    page="send-link",
    message=status_text("link", "whatsapp", "sent"),
    body=(
        sending.PHONE,
        fields.URL,
        fields.TEXT,
        sending.CHANNEL,
        sending.LOCALE,
        fields.ALIAS,
        lifetime_fields.LINK_LIFETIME,
        *fields.OPTIONS,
        *(field.sent for field in stored_fields.of_kind("link")),
    ),
    response=(
        sending.MESSAGE_ID,
        sending.UNDERSTOOD_PHONE,
        sending.USED_CHANNEL,
        sending.REQUESTED_LOCALE,
        sending.SEND_STATUS,
        sending.COST,
        TEST,
        fields.SHORT_URL,
        Field(
            "segments",
            integer(1),
            _("The number of SMS segments; present only for SMS."),
            required=False,
        ),
    ),
    refusals=(*sending.SENT_REFUSALS, Error.ALIAS_TAKEN),
)

_CREATED_EXAMPLE = {
    "success": True,
    fields.LINK_ID.name: fields.LINK_ID.example,
    fields.SHORTENED_URL.name: fields.SHORTENED_URL.example,
    fields.SLUG.name: fields.SLUG.example,
    fields.TARGET.name: fields.TARGET.example,
    lifetime_fields.EXPIRES_AT.name: None,
    lifetime_fields.EXPIRES_IN.name: None,
    fields.REUSED.name: False,
}


_REFUSED_EXAMPLE = {
    "success": False,
    "code": Error.URL_NOT_ALLOWED.code,
    "message": target_urls.IP_ADDRESS,
    "errors": {"url": [target_urls.IP_ADDRESS]},
}


RESULT = Shape(
    "LinkResult",
    (
        Field("success", boolean(), _("Whether the link was created."), True),
        *(
            field.optional()
            for field in (*fields.ADDRESS, lifetime_fields.EXPIRES_IN, fields.REUSED)
        ),
        Field("code", text(), _("The error code, if the link was not created."), required=False),
        Field(
            "message", text(), _("The error message, if the link was not created."), required=False
        ),
        Field(
            "errors",
            {"type": "object", "additionalProperties": array(text())},
            _("The errors of each invalid field, by the field's name."),
            required=False,
        ),
    ),
)
LINKS = Field(
    "links",
    array() | {"minItems": 1, "maxItems": MAX_LINKS},
    format_lazy(_("The links to create: 1 to {max}."), max=MAX_LINKS),
    [{"url": fields.TARGET.example}, {"url": "http://10.0.0.1/"}],
    fields=fields.NEW_LINK,
    error=format_lazy(_("A list of 1 to {max} objects with a url"), max=MAX_LINKS),
)
BULK = Call(
    "POST",
    "/links/bulk",
    "shortenLinks",
    _("Shorten many links"),
    _(
        "Creates several short links in one request. Each link has its own result: an error "
        "in one does not affect the others. It costs no tokens."
    ),
    Scope.LINKS,
    page="links",
    message=_("Links created: 1 of 2"),
    body=(LINKS,),
    response=(
        Field(
            "batch",
            nullable(identifier("bat")),
            _("The id of the batch of created links; `null` if none was created."),
            fields.BATCH_ID,
        ),
        Field(
            "data",
            array(),
            _("The result for each link, in the order of the request."),
            [_CREATED_EXAMPLE, _REFUSED_EXAMPLE],
            fields=RESULT,
        ),
    ),
    refusals=(Error.INVALID_INPUT,),
)

BATCH = Field("batch", identifier("bat"), _("The id of the batch."), fields.BATCH_ID)
STOP = Call(
    "DELETE",
    "/batches/{id}",
    "stopBatch",
    _("Stop a batch of links"),
    _(
        "Stops all links of the batch: within a second they answer 410. The links' own "
        "settings do not change."
    ),
    Scope.LINKS,
    page="links",
    message=_("The links of the batch were stopped"),
    response=(BATCH,),
    refusals=(Error.INVALID_INPUT, Error.NOT_FOUND),
)
RELEASE = Call(
    "POST",
    "/batches/{id}/release",
    "releaseBatch",
    _("Release a batch of links"),
    _(
        "The links of the batch open again, except those that were disabled individually or "
        "have expired."
    ),
    Scope.LINKS,
    page="links",
    message=_("The links of the batch open again"),
    response=(BATCH,),
    refusals=(Error.NOT_FOUND,),
    is_audited=True,
)

INTERVAL_NAMES = choice(["day", "hour"], "StatsInterval")


WITH_STATE = Field("state", fields.STATE_NAMES, _("Only links in this state."), required=False)
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
    response=page_of(fields.LINK, _("The links, newest first.")),
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
    response=fields.LINK,
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
    body=(
        fields.NEW_URL,
        lifetime_fields.NEW_LIFETIME,
        lifetime_fields.NEVER_EXPIRES,
        fields.ENABLED,
        fields.NEW_EXPIRED_URL,
        fields.NEW_TAGS,
    ),
    response=fields.LINK,
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
    response=fields.LINK,
    example_values={"state": "disabled"},
    refusals=(Error.NOT_FOUND,),
)

POINT = Shape(
    "ClickCounts",
    (
        Field("at", time(), _("The start of the day or hour."), "2026-11-19T21:00:00Z"),
        *fields.COUNTS,
    ),
)


def _breakdown(name: str, description: StrOrPromise, example: str) -> Field:
    rows = Shape(
        "ClickBreakdown",
        (
            Field("name", nullable(text()), _("The value; `null` if unknown."), example),
            fields.COUNTS[0],
        ),
    )
    return Field(name, array(), description, fields=rows)


COUNTED = (fields.LINK_ID, *fields.COUNTS, *fields.CLICK_TIMES)
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
    response=LINK_STATS,
    refusals=(Error.INVALID_INPUT, Error.NOT_FOUND),
)

CALLS = (SHORTEN, SEND_LINK, BULK, STOP, RELEASE, LIST, GET, CHANGE, DISABLE, STATS)


def _example(_kind: EventKind, subject: str, now: datetime) -> dict[str, Any]:
    return {
        "id": f"lnk_{subject}",
        "short_url": "https://example.com/bcdfghjk",
        "url": "https://example.com/orders/77",
        "new_clicks": 1,
        "clicks": 42,
        "clicked_at": iso(now),
    }


CLICK_EVENT = EventDeclaration(
    "LinkClickEvent",
    {
        EventKind.LINK_CLICKED: _(
            "A person opened the link. Previews, scanners and clicks before the message could "
            "have been read are not counted. For a link that opens once: its button was pressed. "
            "`new_clicks` is the number of clicks in this event, `clicks` the link's total so "
            "far, which may lag behind while clicks are being counted."
        )
    },
    (
        fields.LINK_ID,
        fields.SHORTENED_URL,
        fields.TARGET,
        Field(
            "clicks",
            integer(0),
            _("The total number of clicks by people, as in `GET /links/{id}`."),
        ),
        Field("new_clicks", integer(0), _("The number of new clicks that this event reports.")),
        Field("clicked_at", time(), _("The time of the last of these clicks.")),
    ),
    _example,
)

EVENTS = (CLICK_EVENT,)
