"""Fields that all sends and lists of messages share, and the refusals of every send."""

from django.utils.translation import gettext_lazy as _

from api.calls import Field, choice, identifier, integer, nullable, option, text
from catalogue.channels import BY_NAME
from catalogue.errors import Error
from catalogue.languages import tags
from channels.models import Message
from parsing import clipboard

CHANNEL_NAMES = choice(BY_NAME, "ChannelName")
MESSAGE_STATUSES = choice(list(Message.State.values), "MessageStatus")

PHONE = Field(
    "phone",
    text(minLength=1, maxLength=64),
    _(
        "The recipient's phone number, preferably with a plus and the country code: "
        "`+79990000000`. Spaces, brackets, dots, slashes, dashes, invisible marks and an extension "
        "are ignored, digits of any script and `tel:` are read, and numbers written before a "
        "country's renumbering become the present ones. Without a plus, `8 "
        "999 …` and ten digits that begin with 9 are read as `+7` for companies in Russia and"
        " Kazakhstan; any other number is read first as international, then as a national "
        "number of the company's country."
    ),
    "+79990000000",
    normalise=clipboard.plain,
)
DEFAULT_PURPOSE = "verification"
UNDERSTOOD_PHONE = Field(
    "phone",
    text(pattern=r"^\+[0-9]+$"),
    _(
        "The phone number as it was parsed, in E.164 format. Compare it with the number you "
        "intended."
    ),
    "+79990000000",
)
CHANNEL = option(
    "channel",
    CHANNEL_NAMES,
    _(
        "The only channel to use. If omitted, the service chooses one, starting with the "
        "company's default, and falls back to further channels if the company's settings "
        "allow it."
    ),
)
LANGUAGE_TAG = text(maxLength=tags.MAX_LENGTH, pattern=tags.LOOSE_PATTERN)
LOCALE = Field(
    "locale",
    nullable(LANGUAGE_TAG),
    _(
        "The language of the message: any tag of BCP 47, such as `kk`, `de-AT` or `pt_BR`. The "
        "nearest language that has texts is used, else the company's. By default the policy's, "
        "then the company's."
    ),
    required=False,
    normalise=tags.canonical,  # an invalid tag becomes empty, which the pattern refuses
    error=_("Not a language tag, such as de-DE (BCP 47)."),
)
REQUESTED_LOCALE = Field(
    "locale", LANGUAGE_TAG, _("The language that was asked for, as a tag of BCP 47."), "de-AT"
)
MESSAGE_ID = Field(
    "id",
    identifier("msg"),
    _("The message's id. Use it with `GET /messages/{id}`."),
    "msg_0192f0c1a6d87b3e9c4f5a6b7c8d9e0f",
    source="public_id",
)
USED_CHANNEL = Field(
    "channel",
    CHANNEL_NAMES,
    _("The channel the message was sent through; the last one if there were several."),
    "whatsapp",
)
SEND_STATUS = Field(
    "status",
    choice(["queued", "sent", "delivered"], "SendStatus"),
    _("The current status of the message."),
    "delivered",
)
STATUS = Field("status", MESSAGE_STATUSES, _("The message's status."), "delivered", source="state")
COST = Field(
    "cost", integer(0), _("Tokens charged when delivery is confirmed; 0 for test keys."), 1
)
SENT_REFUSALS = (
    Error.INSUFFICIENT_TOKENS,
    Error.INVALID_INPUT,
    Error.INVALID_PHONE,
    Error.COUNTRY_NOT_ALLOWED,
    Error.RECIPIENT_UNREACHABLE,
    Error.CHANNEL_UNAVAILABLE,
    Error.LINK_NOT_SUPPORTED,
    Error.URL_NOT_ALLOWED,
    Error.SEND_LIMIT,
    Error.DELIVERY_FAILED,
)
