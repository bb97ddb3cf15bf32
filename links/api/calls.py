"""POST /links/shorten and POST /links/send, declared."""

from django.utils.translation import gettext_lazy as _

from accounts.api.calls import Call
from accounts.api.fields import TEST, Field, integer
from accounts.models import Scope
from channels.web.fields import (
    CHANNEL,
    COST,
    LOCALE,
    MESSAGE_ID,
    PHONE,
    SEND_STATUS,
    SENT_REFUSALS,
    UNDERSTOOD_PHONE,
    USED_CHANNEL,
)
from channels.web.send_view import status_text
from config.errors import Error
from links.api.fields import (
    ADDRESS,
    ALIAS,
    EXPIRES_IN,
    LINK_LIFETIME,
    NEW_LINK,
    OPTIONS,
    REUSED,
    SHORT_URL,
    TEXT,
    URL,
)

SHORTEN = Call(
    "POST",
    "/links/shorten",
    "shortenLink",
    _("Shorten a link"),
    _("Creates a short link. It costs no tokens."),
    Scope.LINKS,
    page="shorten",
    message=_("The link was shortened"),
    body=NEW_LINK,
    answer=(*ADDRESS, EXPIRES_IN, REUSED),
    refusals=(Error.INVALID_INPUT, Error.URL_NOT_ALLOWED, Error.ALIAS_TAKEN),
)

SEND_LINK = Call(
    "POST",
    "/links/send",
    "sendLink",
    _("Send a link"),
    _("Shortens a URL and sends it to a phone number with your text."),
    Scope.LINKS,
    page="send-link",
    message=status_text("link", "whatsapp", "sent"),
    body=(
        PHONE,
        URL,
        TEXT,
        CHANNEL,
        LOCALE,
        ALIAS,
        LINK_LIFETIME,
        *OPTIONS,
    ),
    answer=(
        MESSAGE_ID,
        UNDERSTOOD_PHONE,
        USED_CHANNEL,
        SEND_STATUS,
        COST,
        TEST,
        SHORT_URL,
        Field(
            "segments",
            integer(1),
            _("The number of SMS segments; present only for SMS."),
            required=False,
        ),
    ),
    refusals=(*SENT_REFUSALS, Error.ALIAS_TAKEN),
)

CALLS = (SHORTEN, SEND_LINK)
