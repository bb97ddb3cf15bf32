"""Fields that all sends and lists of messages share, and what every send may be refused for."""

from django.utils.translation import gettext_lazy as _

from accounts.api.fields import Field, choice, identifier, integer, nullable, text
from channels.models import Message
from config.channels import BY_NAME
from config.errors import Error

CHANNEL_NAMES = choice(BY_NAME, "ChannelName")
MESSAGE_STATUSES = choice(list(Message.State.values), "MessageStatus")

PHONE = Field(
    "phone",
    text(minLength=1, maxLength=64),
    _(
        "The recipient's number, best with a plus and its country code, `+79990000000`; spaces, "
        "brackets, dots and hyphens do no harm. Without a plus, `8 999 …` and ten digits that "
        "begin with 9 are `+7` to a company in Russia or Kazakhstan; all else is read as an "
        "international number first, then as one of the company's country."
    ),
    "+79990000000",
)
UNDERSTOOD_PHONE = Field(
    "phone",
    text(pattern=r"^\+[0-9]+$"),
    _("The number as it was understood, in E.164. Compare it with what you meant."),
    "+79990000000",
)
CHANNEL = Field(
    "channel",
    nullable(CHANNEL_NAMES),
    _(
        "The channel, and no other. If it is left out the service chooses, beginning with the "
        "company's default, and goes on by further channels where its settings say so."
    ),
    required=False,
)
LOCALE = Field(
    "locale",
    nullable(choice(["ru", "en"], "Locale")),
    _("The language of the message; the company's by default."),
    required=False,
)
MESSAGE_ID = Field(
    "id",
    identifier("msg"),
    _("The message's id, for `GET /messages/{id}`."),
    "msg_0192f0c1a6d87b3e9c4f5a6b7c8d9e0f",
    source="public_id",
)
USED_CHANNEL = Field(
    "channel",
    CHANNEL_NAMES,
    _("The channel the message went by; of several, the last one."),
    "whatsapp",
    source="channel",
)
SEND_STATUS = Field(
    "status",
    choice(["queued", "sent", "delivered"], "SendStatus"),
    _("What has become of the message so far."),
    "delivered",
)
STATUS = Field(
    "status",
    MESSAGE_STATUSES,
    _("The message's status."),
    "delivered",
    source="state",
)
COST = Field(
    "cost",
    integer(0),
    _("Tokens charged once delivery is proved; 0 with a test key."),
    1,
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
