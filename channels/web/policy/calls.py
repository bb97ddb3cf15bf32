"""Declares GET and PUT /policy, and GET /policy/preview."""

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from accounts.models import Scope
from api.calls import Call, Field, Shape, array, boolean, integer, nullable, option, text
from catalogue.errors import Error
from channels.routing.stored_rules import MAX_RULES, PURPOSE_LENGTH
from channels.web.fields import CHANNEL_NAMES, LANGUAGE_TAG, UNDERSTOOD_PHONE
from channels.web.message_fields import KIND
from parsing import clipboard

MIN_PATIENCE, MAX_PATIENCE = settings.PATIENCE_RANGE

COUNTRY = option(
    "country",
    text(pattern="^([A-Z]{2})?$"),
    _("The ISO 3166 code of the recipient's country; `null` for all countries."),
    "RU",
)
PURPOSE = option(
    "purpose",
    text(maxLength=PURPOSE_LENGTH),
    _("The purpose of the codes; `null` for all purposes, and for links."),
)
CHANNELS = option(
    "channels",
    array(CHANNEL_NAMES) | {"minItems": 1},
    _("The channels to use, in the order in which they are tried, and no others."),
    ["telegram", "sms"],
)
PATIENCE = Field(
    "patience",
    {
        "type": "object",
        "nullable": True,
        "additionalProperties": integer(MIN_PATIENCE, MAX_PATIENCE),
    },
    _("Seconds that a channel has to prove delivery before the next one is tried, by channel."),
    {"telegram": 20},
    required=False,
    source=lambda rule: rule.patience or {},
)
MAX_COST = option(
    "max_cost",
    integer(1, settings.MAX_BUDGET),
    _("The maximum price of a message, in tokens; more expensive channels are skipped."),
)
BARRED = option(
    "barred",
    array(CHANNEL_NAMES),
    _("Channels through which nothing is sent there, even if a request names one."),
    ["whatsapp"],
)
LOCALE = option(
    "locale",
    LANGUAGE_TAG,
    _("The language of messages if the request names none: a tag of BCP 47."),
)
SMART = option(
    "smart",
    boolean(),
    _(
        "`true`: order and patience of codes come from past results of the number and its "
        "carrier; `channels` lists the channels to choose from. One code in twenty goes "
        "without it, so that the saving can be measured."
    ),
)
RULE = Shape("PolicyRule", (COUNTRY, PURPOSE, CHANNELS, PATIENCE, MAX_COST, BARRED, LOCALE, SMART))
RULES = Field(
    "rules",
    array() | {"minItems": 0, "maxItems": MAX_RULES},
    _(
        "The rules. The most specific one that matches applies: by country and purpose, by "
        "country, by purpose, then for all. What it leaves out (`null`) comes from the next one "
        "that matches, and finally from the company's settings."
    ),
    fields=RULE,
)

GET_POLICY = Call(
    "GET",
    "/policy",
    "getPolicy",
    _("Retrieve the policy"),
    _("Returns the company's rules: which channels are used for a country and a purpose."),
    Scope.POLICY,
    message=_("Policy"),
    query=(),
    response=(RULES,),
)
PUT_POLICY = Call(
    "PUT",
    "/policy",
    "replacePolicy",
    _("Replace the policy"),
    _(
        "Replaces all of the company's rules. Requires a live key. They take effect within two "
        "seconds, for live and test keys alike. A request that names a channel uses that channel, "
        "unless it is barred. Unknown fields of a rule are refused."
    ),
    Scope.POLICY,
    message=_("The policy was saved"),
    body=(RULES,),
    response=(RULES,),
    refusals=(Error.INVALID_INPUT,),
)

OF_PHONE = Field(
    "phone",
    text(),
    _("The phone number, in any format."),
    "+79990000000",
    normalise=clipboard.plain,
)
FOR_PURPOSE = Field(
    "purpose",
    text(maxLength=PURPOSE_LENGTH),
    _("The purpose of the code; by default `verification`."),
    required=False,
)
OF_KIND = Field("kind", KIND.schema, _("What would be sent; by default a code."), required=False)
STEP = Shape(
    "PolicyStep",
    (
        Field(
            "channel",
            CHANNEL_NAMES,
            _("The channel."),
            "telegram",
            source=lambda step: step.channel.name,
        ),
        Field("cost", integer(0), _("Its price in tokens, if it delivers."), 1, source="price"),
        Field(
            "patience",
            nullable(integer(0)),
            _("Seconds until the next channel is tried; `null` for the last one."),
            20,
            source=lambda step: None if step.patience is None else round(step.patience),
        ),
        Field(
            "available",
            boolean(),
            _("Whether the channel can carry it now."),
            True,
            source="is_available",
        ),
    ),
)
MATCHED = Shape("MatchedRule", (COUNTRY, PURPOSE))
PREVIEW_POLICY = Call(
    "GET",
    "/policy/preview",
    "previewPolicy",
    _("Preview the policy for a number"),
    _(
        "Returns the channels that a send to this number would try now. Nothing is sent, counted "
        "or charged. A send that the policy refuses is refused here with the same error; limits, "
        "budgets and the protection against SMS pumping are not checked."
    ),
    Scope.POLICY,
    message=_("The channels for this number"),
    query=(OF_PHONE, FOR_PURPOSE, OF_KIND),
    response=(
        UNDERSTOOD_PHONE,
        Field("country", nullable(text()), _("The country of the number."), "RU"),
        Field(
            "locale", LANGUAGE_TAG, _("The language of the message, as a tag of BCP 47."), "de-AT"
        ),
        Field("steps", array(), _("The channels, in their order."), fields=STEP),
        Field("barred", array(CHANNEL_NAMES), _("Channels that the policy bars."), ["whatsapp"]),
        Field(
            "rules", array(), _("The rules that matched, the most specific first."), fields=MATCHED
        ),
    ),
    refusals=(
        Error.INVALID_INPUT,
        Error.INVALID_PHONE,
        Error.COUNTRY_NOT_ALLOWED,
        Error.CHANNEL_UNAVAILABLE,
    ),
)

CALLS = (GET_POLICY, PUT_POLICY, PREVIEW_POLICY)
