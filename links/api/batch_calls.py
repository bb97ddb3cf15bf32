"""The calls of batches: many links made at once, stopped and released together."""

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.api.calls import Call
from accounts.api.fields import Field, Shape, array, boolean, identifier, nullable, text
from accounts.models import Scope
from config.errors import Error
from links.addresses import target_urls
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
    "code": Error.URL_NOT_ALLOWED.code,
    "message": target_urls.IP_ADDRESS,
    "errors": {"url": [target_urls.IP_ADDRESS]},
}


RESULT = Shape(
    "LinkResult",
    (
        Field("success", boolean(), _("Whether the link was created."), True),
        *(one.optional() for one in (*ADDRESS, EXPIRES_IN, REUSED)),
        Field(
            "code",
            text(),
            _("The error code, if the link was not created."),
            required=False,
        ),
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
    array() | {"minItems": 1, "maxItems": bulk.MAX_LINKS},
    format_lazy(_("The links to create: 1 to {max}."), max=bulk.MAX_LINKS),
    [{"url": TARGET.example}, {"url": "http://10.0.0.1/"}],
    fields=NEW_LINK,
    error=format_lazy(_("A list of 1 to {max} objects with a url"), max=bulk.MAX_LINKS),
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
    refusals=(Error.NOT_FOUND,),
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

CALLS = (BULK, STOP, RELEASE)
