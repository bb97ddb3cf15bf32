"""Events of webhooks as the schema has them."""

from django.utils.translation import gettext_lazy as _

from accounts.api.fields import Field, Shape, identifier, text, time
from accounts.webhooks.event_declarations import EventDeclaration

EVENT = Shape(
    "Event",
    (
        Field(
            "id",
            identifier("evt"),
            _("The event's id, also in the header `webhook-id`. Retries do not change it."),
        ),
        Field(
            "type",
            text(),
            _("What happened. New types will come."),
        ),
        Field("timestamp", time(), _("When it happened.")),
    ),
)


def payload_shape(declaration: EventDeclaration) -> Shape:
    """An event with the data it carries."""
    kinds = [kind.value for kind in declaration.kinds]
    return Shape(
        declaration.name,
        (
            Field("type", text(enum=kinds), _("What happened.")),
            Field("data", {"type": "object"}, _("What it happened to."), fields=declaration.data),
        ),
        base=EVENT,
    )
