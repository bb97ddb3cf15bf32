"""Fields of short links: what may be asked of one, and what is told of it."""

from dataclasses import replace

from django.utils.translation import gettext_lazy as _

from api_docs.calls.common_fields import ALIAS, EXPIRES_AT, LINK_LIFETIME, SHORT_URL, TEST, URL
from api_docs.calls.shapes import (
    Field,
    Shape,
    boolean,
    choice,
    identifier,
    integer,
    nullable,
    text,
    time,
)
from config.texts import StrOrPromise
from links.addresses.target_urls import MAX_LENGTH as URL_LENGTH
from links.web.link_api import STATES
from links.web.request_fields import UNTIL

STATE_NAMES = choice(STATES, "LinkState")
UNTIL_NAMES = choice(UNTIL, "LinkUntil")

LINK_ID = Field(
    "id",
    identifier("lnk"),
    _("The link's id."),
    "lnk_0192f0c1a6da7e2f9a3b4c5d6e7f8091",
)
SLUG = Field("slug", text(), _("What follows the slash."), "bcdfghjk")
TARGET = Field(
    "url",
    text(format="uri"),
    _("Where it leads."),
    "https://shop.example/orders/1024",
)
SHORTENED_URL = replace(SHORT_URL, example="https://kvitok.example/bcdfghjk")

HOST = Field(
    "host",
    nullable(text(format="hostname", maxLength=253)),
    _(
        "The link's host: one of the company's own, or the service's. By default the company's "
        "setting."
    ),
    required=False,
)
TAGS = Field(
    "utm",
    nullable(boolean()),
    _("`false`: leave the company's tags out of the target."),
    required=False,
)
EXPIRED_URL = Field(
    "expired_url",
    nullable(text(maxLength=URL_LENGTH)),
    _(
        "Where to lead once it has expired. By default the company's setting; an empty string: "
        "nowhere."
    ),
    required=False,
)
ONCE = Field(
    "once",
    nullable(boolean()),
    _("`true`: opens once, when the visitor presses a button."),
    required=False,
)
REUSE = Field(
    "reuse",
    nullable(boolean()),
    _(
        "`true`: answer with an equal link if one is there and works. Not together with `alias` or "
        "`once`."
    ),
    required=False,
)
LINK_UNTIL = Field(
    "link_until",
    nullable(UNTIL_NAMES),
    _(
        "`code`: the link lives no longer than the code: it closes once the code is entered, "
        "replaced or expired."
    ),
    required=False,
)
OPTIONS = (HOST, TAGS, EXPIRED_URL, ONCE)
NEW_LINK = Shape("NewLink", (URL, ALIAS, LINK_LIFETIME, *OPTIONS, REUSE))

REUSED = Field(
    "reused",
    boolean(),
    _("`true` when this link was there already: of a request with `reuse`."),
    False,
)
BATCH_ID = "bat_0192f0c1a6db7f3a8b4c5d6e7f809102"


def moment(name: str, words: StrOrPromise, example: str | None = None) -> Field:
    return Field(name, nullable(time()), words, example)


def _count(name: str, words: StrOrPromise, example: int) -> Field:
    return Field(name, integer(0), words, example)


COUNTS = (
    _count("clicks", _("Clicks by people."), 42),
    _count(
        "previews",
        _("Fetches ahead of a person: messengers' previews, browsers' prefetching."),
        7,
    ),
    _count("scanners", _("Robots, virus scanners, scripts."), 3),
)
CLICK_TIMES = (
    moment(
        "first_click_at",
        _("A person's first click."),
        "2026-11-20T10:17:40.512Z",
    ),
    moment(
        "last_click_at",
        _("A person's last click."),
        "2026-11-20T18:02:05.004Z",
    ),
)
STATE = Field(
    "state",
    STATE_NAMES,
    _(
        "It works, it has expired, it was disabled (alone or with its batch), or it has been "
        "opened, if it opens once."
    ),
    "active",
)
LINK = Shape(
    "Link",
    (
        LINK_ID,
        SHORTENED_URL,
        SLUG,
        TARGET,
        EXPIRES_AT,
        Field("alias", nullable(text()), _("Your own name for it."), None),
        STATE,
        TEST,
        Field(
            "created_at",
            time(),
            _("When it was made."),
            "2026-11-20T10:15:12.044Z",
        ),
        Field(
            "utm",
            nullable(text()),
            _("The tags that are added to the target."),
            "utm_source=shop&utm_medium={channel}",
        ),
        Field(
            "expired_url",
            nullable(text(format="uri")),
            _("Where it leads once it has expired."),
            None,
        ),
        Field("once", boolean(), _("Whether it opens once."), False),
        moment("used_at", _("When the one that opens once was opened.")),
        Field(
            "until",
            nullable(UNTIL_NAMES),
            _("`code`: lives no longer than its code."),
            None,
        ),
        Field(
            "batch",
            nullable(identifier("bat")),
            _("The batch it was made in."),
            None,
        ),
        *COUNTS,
        *CLICK_TIMES,
    ),
)
NEW_URL = replace(URL, schema=nullable(URL.schema), required=False)
NEW_LIFETIME = replace(
    LINK_LIFETIME,
    words=_("After how many seconds from now it stops working; one that has expired works again."),
)
NEW_TAGS = replace(
    TAGS,
    words=_("`true`: add the company's tags as they are now; `false`: add none."),
)
NEW_EXPIRED_URL = replace(
    EXPIRED_URL,
    words=_("Where to lead once it has expired; an empty string: nowhere."),
)
