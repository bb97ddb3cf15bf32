"""The calls of batches: many links made at once, stopped and released together."""

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.api.calls import Call
from accounts.api.fields import Field, Shape, array, boolean, identifier, nullable, text
from accounts.models import Scope
from config.errors import Error
from links.api.fields import (
    ADDRESS,
    BATCH_ID,
    EXPIRES_AT,
    EXPIRES_IN,
    LINK_ID,
    NEW_LINK,
    REUSED,
    SHORTENED_URL,
    SLUG,
    TARGET,
)
from links.make import bulk

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
    "code": Error.ALIAS_TAKEN.code,
    "message": Error.ALIAS_TAKEN.message,
}


RESULT = Shape(
    "LinkResult",
    (
        Field("success", boolean(), _("Whether this one was made."), True),
        *(one.optional() for one in (*ADDRESS, EXPIRES_IN, REUSED)),
        Field(
            "code",
            text(),
            _("The error code, if it was not made."),
            required=False,
        ),
        Field("message", text(), _("What is wrong, in words."), required=False),
        Field(
            "errors",
            {"type": "object", "additionalProperties": array(text())},
            _("Field → what is wrong with it."),
            required=False,
        ),
    ),
)
LINKS = Field(
    "links",
    array() | {"minItems": 1, "maxItems": bulk.MAX_LINKS},
    format_lazy(_("What to shorten: 1 to {max}."), max=bulk.MAX_LINKS),
    [{"url": TARGET.example}, {"url": TARGET.example, "alias": "sale"}],
    fields=NEW_LINK,
    error=format_lazy(_("A list of 1 to {max} objects with a url"), max=bulk.MAX_LINKS),
)
BULK = Call(
    "POST",
    "/links/bulk",
    "shortenLinks",
    _("Shorten many links"),
    _(
        "Makes short links in one request. Each has a result of its own: a fault in one does not "
        "hinder the others. It costs no tokens."
    ),
    Scope.LINKS,
    page="links",
    message=_("Links made: 1 of 2"),
    body=(LINKS,),
    answer=(
        Field(
            "batch",
            nullable(identifier("bat")),
            _("The batch of what was made; `null` when nothing new was."),
            BATCH_ID,
        ),
        Field(
            "data",
            array(),
            _("A result for each, in the order asked for."),
            [_MADE, _REFUSED],
            fields=RESULT,
        ),
    ),
    refusals=(Error.INVALID_INPUT,),
)

BATCH = Field("batch", identifier("bat"), _("The batch."), BATCH_ID)
STOP = Call(
    "DELETE",
    "/batches/{id}",
    "stopBatch",
    _("Stop a batch of links"),
    _(
        "Within a second no link of the batch opens: all answer 410. The links themselves stay as "
        "they are."
    ),
    Scope.LINKS,
    page="links",
    message=_("The links are stopped: none of them opens"),
    answer=(BATCH,),
    refusals=(Error.NOT_FOUND,),
)
RELEASE = Call(
    "POST",
    "/batches/{id}/release",
    "releaseBatch",
    _("Release a batch of links"),
    _("The links of the batch open again, but for those disabled one by one or expired."),
    Scope.LINKS,
    page="links",
    message=_("The links open again"),
    answer=(BATCH,),
    refusals=(Error.NOT_FOUND,),
)

CALLS = (BULK, STOP, RELEASE)
