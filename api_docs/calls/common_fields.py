"""Fields that several calls share."""

from django.utils.translation import gettext_lazy as _

from api_docs.calls.shapes import Field, boolean, choice, identifier, integer, nullable, text, time
from channels.models import Message
from channels.web.request_fields import CHANNELS, LOCALES
from links.addresses.target_urls import MAX_LENGTH as URL_LENGTH
from links.web.request_fields import FIVE_YEARS, MINUTE

CHANNEL_NAMES = choice(CHANNELS, "ChannelName")
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
    nullable(choice(LOCALES, "Locale")),
    _("The language of the message; the company's by default."),
    required=False,
)
URL = Field(
    "url",
    text(format="uri", minLength=1, maxLength=URL_LENGTH),
    _(
        "A full URL, `http://` or `https://`. IP addresses, local names and other shorteners are "
        "refused."
    ),
    "https://shop.example/orders/1024",
)
ALIAS = Field(
    "alias",
    nullable(text(minLength=3, maxLength=64)),
    _(
        "A name of your own for the link: Latin letters, digits, hyphens and underscores, in any "
        "case."
    ),
    required=False,
)
LINK_LIFETIME = Field(
    "expires_in",
    nullable(integer(MINUTE, FIVE_YEARS)),
    _(
        "After how many seconds the link stops working. By default the company's setting; without "
        "one the link never expires."
    ),
    required=False,
)
MESSAGE_ID = Field(
    "id",
    identifier("msg"),
    _("The message's id, for `GET /messages/{id}`."),
    "msg_0192f0c1a6d87b3e9c4f5a6b7c8d9e0f",
)
USED_CHANNEL = Field(
    "channel",
    CHANNEL_NAMES,
    _("The channel the message went by; of several, the last one."),
    "whatsapp",
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
)
COST = Field(
    "cost",
    integer(0),
    _("Tokens charged once delivery is proved; 0 with a test key."),
    1,
)
TEST = Field(
    "test",
    boolean(),
    _("`true` when a test key made the request."),
    False,
)
SHORT_URL = Field(
    "short_url",
    text(format="uri"),
    _("The short link."),
    "https://kvitok.example/bcdfghjkmn",
)
EXPIRES_AT = Field(
    "expires_at",
    nullable(time()),
    _("When it stops working; `null`: never."),
    None,
)
EXPIRES_IN = Field(
    "expires_in",
    nullable(integer()),
    _("How many seconds it has left; `null`: it never expires."),
    None,
)
LIMIT = Field(
    "limit",
    integer(1, 200),
    _("Rows on a page, 50 by default."),
    required=False,
)
CURSOR = Field(
    "cursor",
    text(),
    _("`next_cursor` of the previous page, to get the next one."),
    required=False,
)
HAS_MORE = Field("has_more", boolean(), _("Whether there is another page."), False)
NEXT_CURSOR = Field(
    "next_cursor",
    nullable(text()),
    _("Pass it as `cursor`; `null` on the last page."),
    None,
)
PATH_ID = Field("id", text(), _("The id."), required=True)
REQUEST_ID = Field(
    "request_id",
    text(pattern="^req_[0-9a-f]{22}$"),
    _("`X-Request-Id` of the request."),
    "req_6f1d2c3b4a59687766aa00",
)
