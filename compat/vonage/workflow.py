"""Reads the body of POST /v2/verify.

Steps by a channel that we lack (voice, e-mail, silent authentication) are passed over, as Vonage
passes over a step that fails; without any other the request is refused.
"""

from collections.abc import Mapping, Sized
from typing import Any, NamedTuple

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from api.calls import array, boolean, integer, text
from api.request_fields import NOT_TEXT, REQUIRED, WRONG_FORMAT, RequestFields, allowed_values
from catalogue.texts import StrOrPromise
from channels.routing.company_policy import AskedOrder
from compat.fields import needed, optional, own_code
from parsing import characters

CHANNELS = {"sms": "sms", "whatsapp": "whatsapp"}  # Vonage's names, and ours
LACKING = ("whatsapp_interactive", "voice", "rcs", "email", "silent_auth")
MAX_STEPS, MAX_TO = 10, 50
LONGEST_LIFE, SHORTEST_LIFE = 900, 60  # seconds of a code

BRAND = needed("brand", text(minLength=1, maxLength=18))
WORKFLOW = needed("workflow", array() | {"minItems": 1, "maxItems": MAX_STEPS})
LOCALE = optional("locale", text(pattern="[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8}){0,4}"))
CHANNEL_TIMEOUT = optional("channel_timeout", integer(15, 900))
CLIENT_REF = optional("client_ref", text(maxLength=40))
CODE_LENGTH = optional("code_length", integer(4, 10))
CODE = own_code("code")
FRAUD_CHECK = optional("fraud_check", boolean())
TEMPLATE_ID = optional("template_id", text(maxLength=64))
OUR_LONGEST = 8
TOO_LONG = format_lazy(_("At most {max} digits"), max=OUR_LONGEST)
NOT_OURS = format_lazy(
    _("This service sends by {channels}; none of them is in the workflow"),
    channels=", ".join(CHANNELS),
)
NOT_FIRST = _("silent_auth must be the first step")
ANOTHER_NUMBER = _("All steps must go to one number")
NO_TEMPLATE = _("Template not found")


class Start(NamedTuple):
    """A request for a verification."""

    to: str  # as it was sent
    locale: str | None
    has_fraud_check: bool
    options: Mapping[str, Any]  # of a `CodeSendRequest`


def read(body: Mapping[str, Any]) -> Start:
    """Raises invalid_input, which names every parameter at fault."""
    fields = RequestFields(body)
    fields.text(BRAND)  # the texts name the company itself, by its own settings
    steps = _steps(fields)
    length, timeout = fields.integer(CODE_LENGTH), fields.integer(CHANNEL_TIMEOUT)
    if length is not None and length > OUR_LONGEST:
        fields.add_error(CODE_LENGTH, TOO_LONG)
    if fields.text(TEMPLATE_ID):
        fields.add_error(TEMPLATE_ID, NO_TEMPLATE)
    channels = tuple(dict.fromkeys(channel for channel, _to in steps))
    start = Start(
        to=steps[0][1] if steps else "",
        locale=fields.text(LOCALE),
        has_fraud_check=fields.boolean(FRAUD_CHECK) is not False,
        options={
            "order": AskedOrder(channels, timeout),
            "lifetime": _lifetime(timeout, channels),
            "reference": fields.text(CLIENT_REF) or "",
            "code_length": length,
            "custom_code": fields.text(CODE),
        },
    )
    fields.check()
    return start


def _lifetime(timeout: int | None, channels: Sized) -> int | None:
    """As long as all steps last."""
    if timeout is None:
        return None
    return min(max(timeout * len(channels), SHORTEST_LIFE), LONGEST_LIFE)


def _steps(fields: RequestFields) -> list[tuple[str, str]]:
    """Our channel and the number of each step that we can take."""
    is_given = fields.payload.get(WORKFLOW.name) is not None
    given = fields.array(WORKFLOW) if is_given else []
    if not is_given:
        fields.add_error(WORKFLOW, REQUIRED)
    errors = dict(fault for n, step in enumerate(given) if (fault := _fault(n, step)))
    fields.errors |= {name: [reason] for name, reason in errors.items()}
    if fields.errors:
        return []
    steps = [
        (CHANNELS[step["channel"]], step["to"]) for step in given if step["channel"] in CHANNELS
    ]
    if not steps:
        fields.errors["workflow[0].channel"] = [NOT_OURS]
    elif len({to for _channel, to in steps}) > 1:
        fields.errors["workflow[1].to"] = [ANOTHER_NUMBER]
    return steps


def _fault(n: int, step: object) -> tuple[str, StrOrPromise] | None:
    """The parameter of a step that is wrong, and why."""
    if not isinstance(step, Mapping):
        return f"workflow[{n}]", WRONG_FORMAT
    channel, to = step.get("channel"), step.get("to")
    if not isinstance(channel, str) or channel not in {*CHANNELS, *LACKING}:
        return f"workflow[{n}].channel", allowed_values([*CHANNELS, *LACKING])
    if channel == "silent_auth" and n:
        return f"workflow[{n}].channel", NOT_FIRST
    if not isinstance(to, str):
        return f"workflow[{n}].to", REQUIRED if to is None else NOT_TEXT
    if not 0 < len(to) <= MAX_TO or not characters.is_line(to):
        return f"workflow[{n}].to", WRONG_FORMAT
    return None
