"""The fields of Infobip's bodies. Those that shape speech, senders and reports are ignored."""

from collections.abc import Mapping
from typing import Any

from api.calls import Field, boolean, choice, integer, text
from catalogue.errors import invalid_input
from compat.fields import guess, needed, optional, values

LENGTHS = range(4, 9)
PLACEHOLDER = "{{pin}}"
ID = text(minLength=1, maxLength=64)
NAME = (needed("name", text(minLength=1, maxLength=200)),)
TRACKING = (optional("trackDelivery", boolean()),)
PIN = (needed("applicationId", ID), needed("messageId", ID), needed("to", ID), *TRACKING)
GUESS = (guess("pin"),)
TEMPLATE = (
    Field("messageText", text(maxLength=1000), "", is_multiline=True),
    needed("pinType", choice(("NUMERIC",), "PinType")),
    optional("pinLength", integer(LENGTHS[0], LENGTHS[-1])),
)
CHANGE = tuple(field.optional() for field in TEMPLATE)


def pin_length(body: Mapping[str, Any], *, is_new: bool) -> int | None:
    """What can be chosen of a message template here."""
    template = values(body, TEMPLATE if is_new else CHANGE)
    if template["messageText"] is not None and PLACEHOLDER not in template["messageText"]:
        raise invalid_input(messageText=f"Must contain {PLACEHOLDER}")
    length: int | None = template["pinLength"]
    return length
