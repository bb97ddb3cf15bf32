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
            _(
                "The event's id, also sent in the header `webhook-id`. It is the same in every "
                "retry."
            ),
        ),
        Field(
            "type",
            text(),
            _("The type of the event. New types may be added."),
        ),
        Field("timestamp", time(), _("When the event occurred.")),
    ),
)


def payload_shape(declaration: EventDeclaration) -> Shape:
    """An event with the data it carries."""
    kinds = [kind.value for kind in declaration.kinds]
    return Shape(
        declaration.name,
        (
            Field("type", text(enum=kinds), _("The type of the event.")),
            Field(
                "data",
                {"type": "object"},
                _("The object that the event is about."),
                fields=declaration.data,
            ),
        ),
        base=EVENT,
    )
