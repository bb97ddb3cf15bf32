"""POST /links/shorten and POST /links/send, written down."""

from django.utils.translation import gettext_lazy as _

from accounts.models import Scope
from api_docs.calls.codes import SENT_REFUSALS
from api_docs.calls.common_fields import (
    ALIAS,
    CHANNEL,
    COST,
    EXPIRES_AT,
    EXPIRES_IN,
    LINK_LIFETIME,
    LOCALE,
    MESSAGE_ID,
    PHONE,
    SEND_STATUS,
    SHORT_URL,
    TEST,
    UNDERSTOOD_PHONE,
    URL,
    USED_CHANNEL,
)
from api_docs.calls.link_fields import (
    LINK_ID,
    NEW_LINK,
    OPTIONS,
    REUSED,
    SHORTENED_URL,
    SLUG,
    TARGET,
)
from api_docs.calls.shapes import Call, Field, integer, nullable, text
from channels.history.status_texts import status_text
from config.errors import Error
from links.web.api import SHORTENED
from links.web.request_fields import TEXT_LENGTH

SHORTEN = Call(
    "POST",
    "/links/shorten",
    "shortenLink",
    _("Shorten a link"),
    _("Makes a short link. It costs no tokens."),
    Scope.LINKS,
    page="shorten",
    message=SHORTENED,
    body=NEW_LINK,
    answer=(
        LINK_ID,
        SHORTENED_URL,
        SLUG,
        TARGET,
        EXPIRES_AT,
        EXPIRES_IN,
        REUSED,
    ),
    refusals=(Error.INVALID_INPUT, Error.URL_NOT_ALLOWED, Error.ALIAS_TAKEN),
)

SEND_LINK = Call(
    "POST",
    "/links/send",
    "sendLink",
    _("Send a link"),
    _("Shortens a URL and sends it to the number with your text."),
    Scope.LINKS,
    page="send-link",
    message=status_text("link", "whatsapp", "sent"),
    body=(
        PHONE,
        URL,
        Field(
            "text",
            nullable(text(maxLength=TEXT_LENGTH)),
            _(
                "The text of the message. Every whole word `:link` becomes the short link; without "
                "one the link goes to the end."
            ),
            required=False,
        ),
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
            _("How many segments the SMS has; with SMS only."),
            required=False,
        ),
    ),
    refusals=(*SENT_REFUSALS, Error.ALIAS_TAKEN),
)

CALLS = (SHORTEN, SEND_LINK)
