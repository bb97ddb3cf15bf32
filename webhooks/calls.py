"""Declares the calls of /webhooks."""

from dataclasses import replace

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.models import Scope
from api.calls import (
    Call,
    Field,
    Shape,
    array,
    boolean,
    choice,
    identifier,
    moment,
    nullable,
    option,
    page_of,
    text,
    time,
)
from catalogue.errors import Error
from webhooks.egress import MAX_URL_LENGTH
from webhooks.endpoints import DESCRIPTION_LENGTH
from webhooks.models import Endpoint, EventKind

KINDS = list(EventKind.values)
EVENT_TYPES = choice(KINDS, "EventType")
ID = "whk_0192f0c1a6db7f3a8b4c5d6e7f809102"

URL = Field(
    "url",
    text(format="uri", minLength=1, maxLength=MAX_URL_LENGTH),
    _("The URL of your server: `https://`, port 443 or 8443, reachable from the internet."),
    "https://shop.example/kvitok",
    is_checked_later=True,
)
EVENTS = option(
    "events",
    array(EVENT_TYPES) | {"minItems": 1},
    _("The event types to send to this endpoint; all types by default."),
    ["message.delivered", "message.failed"],
)
DESCRIPTION = option(
    "description", text(maxLength=DESCRIPTION_LENGTH), _("A description for your own use.")
)
ENABLED = option("enabled", boolean(), _("Whether the endpoint receives events."))
SECRET = Field(
    "secret",
    text(pattern="^whsec_[A-Za-z0-9+/=]+$"),
    _("The signing secret. It is returned only once, so store it securely."),
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
)


ENDPOINT_ID = Field("id", identifier("whk"), _("The endpoint's id."), ID, source="public_id")
ENDPOINT = Shape(
    "WebhookEndpoint",
    (
        ENDPOINT_ID,
        Field("url", text(format="uri"), _("The URL that events are sent to."), URL.example),
        Field(
            "events",
            array(EVENT_TYPES),
            _("The event types sent to this endpoint."),
            EVENTS.example,
            source="kinds",
        ),
        Field("description", nullable(text()), _("Your description of the endpoint.")),
        Field(
            "enabled", boolean(), _("Whether the endpoint is enabled."), True, source="is_enabled"
        ),
        Field(
            "disabled_reason",
            nullable(choice(list(Endpoint.Reason.values), "DisabledReason")),
            _(
                "Why the endpoint is disabled: manually, because the receiver answered 410, or "
                "because it accepted nothing for a day."
            ),
        ),
        Field(
            "test",
            boolean(),
            _("Whether the endpoint belongs to test mode."),
            False,
            source=lambda endpoint: endpoint.mode == "test",
        ),
        Field("created_at", time(), _("When the endpoint was created."), "2026-11-20T10:00:00Z"),
        moment("last_success_at", _("When the endpoint last accepted an event.")),
        moment("failing_since", _("When the endpoint began to fail; `null` if it is working.")),
        Field(
            "old_secret_until",
            nullable(time()),
            _("When the previous secret stops signing events."),
            source=lambda endpoint: endpoint.previous_until if endpoint.is_rotating else None,
        ),
    ),
)
ENDPOINT_WITH_SECRET = Shape("WebhookEndpointWithSecret", (SECRET,), base=ENDPOINT)


LIST = Call(
    "GET",
    "/webhooks",
    "listWebhooks",
    _("Webhook endpoints"),
    _("Lists all of the company's endpoints in the key's mode, on one page."),
    Scope.WEBHOOKS,
    message=_("Webhook endpoints"),
    query=(),
    response=page_of(ENDPOINT, _("The endpoints, newest first.")),
)
CREATE = Call(
    "POST",
    "/webhooks",
    "createWebhook",
    _("Add an endpoint"),
    _("Creates an endpoint that receives events and returns its signing secret."),
    Scope.WEBHOOKS,
    message=_("The endpoint was added. Keep the secret: it is shown once"),
    body=(URL, EVENTS, DESCRIPTION),
    response=ENDPOINT_WITH_SECRET,
    refusals=(Error.INVALID_INPUT,),
    is_audited=True,
)
GET = Call(
    "GET",
    "/webhooks/{id}",
    "getWebhook",
    _("Retrieve an endpoint"),
    _("Returns an endpoint and the state of its deliveries."),
    Scope.WEBHOOKS,
    message=_("Webhook endpoint"),
    response=ENDPOINT,
    refusals=(Error.NOT_FOUND,),
)
NEW_URL = replace(URL, schema=nullable(URL.schema), required=False)
CHANGE = Call(
    "PATCH",
    "/webhooks/{id}",
    "changeWebhook",
    _("Change an endpoint"),
    _("Updates the fields that are given; other fields keep their values."),
    Scope.WEBHOOKS,
    message=_("The changes were saved"),
    body=(NEW_URL, EVENTS, DESCRIPTION, ENABLED),
    response=ENDPOINT,
    refusals=(Error.INVALID_INPUT, Error.NOT_FOUND),
)
DELETE = Call(
    "DELETE",
    "/webhooks/{id}",
    "deleteWebhook",
    _("Delete an endpoint"),
    _("Deletes an endpoint. It receives no more events."),
    Scope.WEBHOOKS,
    message=_("The endpoint was deleted"),
    response=(ENDPOINT_ID,),
    refusals=(Error.NOT_FOUND,),
)
ROTATE = Call(
    "POST",
    "/webhooks/{id}/rotate",
    "rotateWebhook",
    _("Rotate the secret"),
    _(
        "Creates a new signing secret. Each replaced secret keeps signing events for 24 hours "
        "after it was replaced. Without an `Idempotency-Key`, a call within a minute of the last "
        "one returns the same secret."
    ),
    Scope.WEBHOOKS,
    message=_("The new secret is ready; the old one keeps signing for another day"),
    response=ENDPOINT_WITH_SECRET,
    refusals=(Error.INVALID_INPUT, Error.NOT_FOUND),
    is_audited=True,
)
EXAMPLE_TYPE = option(
    "type",
    EVENT_TYPES,
    _("The type of event to send; by default the first type the endpoint receives."),
    "message.delivered",
)
EXAMPLE_EVENT = option("event", EVENT_TYPES, _("The same as `type`."))
TEST = Call(
    "POST",
    "/webhooks/{id}/test",
    "testWebhook",
    pgettext_lazy("API call", "Send an example"),
    _("Sends an example event with `example: true`, signed like a real event."),
    Scope.WEBHOOKS,
    message=_("An example is on its way"),
    body=(EXAMPLE_TYPE, EXAMPLE_EVENT),
    response=(
        Field(
            "id", identifier("dlv"), _("The delivery's id."), "dlv_0192f0c1a6dc7a4b9c5d6e7f80910213"
        ),
        Field(
            "event_id",
            identifier("evt"),
            _("The event's id, also sent as `webhook-id`."),
            "evt_0192f0c1a6dd7b5c8d6e7f8091021324",
        ),
        Field("type", EVENT_TYPES, _("The type of the example event."), KINDS[0]),
        Field("event", EVENT_TYPES, _("The same as `type`."), KINDS[0]),
    ),
    refusals=(Error.INVALID_INPUT, Error.NOT_FOUND),
)

CALLS = (LIST, CREATE, GET, CHANGE, DELETE, ROTATE, TEST)
