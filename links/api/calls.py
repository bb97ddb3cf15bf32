"""The calls that make links, one, many or in a message, and the event of clicks, declared."""

from datetime import datetime
from typing import Any

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.models import Scope
from api.calls import (
    TEST,
    Call,
    Field,
    Shape,
    array,
    boolean,
    identifier,
    integer,
    nullable,
    text,
    time,
)
from catalogue.errors import Error
from channels.web.fields import (
    ASKED_LOCALE,
    CHANNEL,
    COST,
    LOCALE,
    MESSAGE_ID,
    PHONE,
    SEND_STATUS,
    SENT_REFUSALS,
    UNDERSTOOD_PHONE,
    USED_CHANNEL,
)
from channels.web.send_view import status_text
from links.addresses import target_urls
from links.api.fields import (
    ADDRESS,
    ALIAS,
    BATCH_ID,
    EXPIRES_AT,
    EXPIRES_IN,
    LINK_ID,
    LINK_LIFETIME,
    NEW_LINK,
    OPTIONS,
    REUSED,
    SHORT_URL,
    SHORTENED_URL,
    SLUG,
    TARGET,
    TEXT,
    URL,
)
from links.make import create
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
    body=NEW_LINK,
    answer=(*ADDRESS, EXPIRES_IN, REUSED),
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
    body=(PHONE, URL, TEXT, CHANNEL, LOCALE, ALIAS, LINK_LIFETIME, *OPTIONS),
    answer=(
        MESSAGE_ID,
        UNDERSTOOD_PHONE,
        USED_CHANNEL,
        ASKED_LOCALE,
        SEND_STATUS,
        COST,
        TEST,
        SHORT_URL,
        Field(
            "segments",
            integer(1),
            _("The number of SMS segments; present only for SMS."),
            required=False,
        ),
    ),
    refusals=(*SENT_REFUSALS, Error.ALIAS_TAKEN),
)

CALLS = (SHORTEN, SEND_LINK)


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


_REFUSED = {
    "success": False,
    "code": Error.URL_NOT_ALLOWED.code,
    "message": target_urls.IP_ADDRESS,
    "errors": {"url": [target_urls.IP_ADDRESS]},
}


RESULT = Shape(
    "LinkResult",
    (
        Field("success", boolean(), _("Whether the link was created."), True),
        *(field.optional() for field in (*ADDRESS, EXPIRES_IN, REUSED)),
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
    array() | {"minItems": 1, "maxItems": create.MAX_LINKS},
    format_lazy(_("The links to create: 1 to {max}."), max=create.MAX_LINKS),
    [{"url": TARGET.example}, {"url": "http://10.0.0.1/"}],
    fields=NEW_LINK,
    error=format_lazy(_("A list of 1 to {max} objects with a url"), max=create.MAX_LINKS),
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
    answer=(
        Field(
            "batch",
            nullable(identifier("bat")),
            _("The id of the batch of created links; `null` if none was created."),
            BATCH_ID,
        ),
        Field(
            "data",
            array(),
            _("The result for each link, in the order of the request."),
            [_MADE, _REFUSED],
            fields=RESULT,
        ),
    ),
    refusals=(Error.INVALID_INPUT,),
)

BATCH = Field("batch", identifier("bat"), _("The id of the batch."), BATCH_ID)
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
    answer=(BATCH,),
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
    answer=(BATCH,),
    refusals=(Error.NOT_FOUND,),
)

BATCH_CALLS = (BULK, STOP, RELEASE)


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
        LINK_ID,
        SHORTENED_URL,
        TARGET,
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
