"""Fields of short links, of requests and of responses."""

from dataclasses import replace

from django.utils.translation import gettext_lazy as _

from accounts.api.common_fields import TEST
from accounts.api.fields import (
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

MINUTE, MONTH, FIVE_YEARS = 60, 2_592_000, 157_680_000  # seconds
TEXT_LENGTH = 500
STATE_NAMES = choice(["active", "expired", "disabled", "used"], "LinkState")
UNTIL_NAMES = choice(["code"], "LinkUntil")

URL = Field(
    "url",
    text(format="uri", minLength=1, maxLength=URL_LENGTH),
    _(
        "A full URL, `http://` or `https://`. IP addresses, local names and other shorteners are "
        "refused."
    ),
    "https://shop.example/orders/1024",
    is_checked_later=True,
)
ALIAS = Field(
    "alias",
    nullable(text(minLength=3, maxLength=64)),
    _(
        "A name of your own for the link: Latin letters, digits, hyphens and underscores, in any "
        "case."
    ),
    required=False,
    is_checked_later=True,
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
SHORT_URL = Field(
    "short_url",
    text(format="uri"),
    _("The short link."),
    "https://kvitok.example/bcdfghjkmn",
    source="short_url",
)
EXPIRES_AT = Field(
    "expires_at",
    nullable(time()),
    _("When it stops working; `null`: never."),
    None,
    source="expires_at",
)
EXPIRES_IN = Field(
    "expires_in",
    nullable(integer()),
    _("How many seconds it has left; `null`: it never expires."),
    None,
)

LINK_ID = Field(
    "id",
    identifier("lnk"),
    _("The link's id."),
    "lnk_0192f0c1a6da7e2f9a3b4c5d6e7f8091",
    source="public_id",
)
SLUG = Field(
    "slug",
    text(),
    _("What follows the slash."),
    "bcdfghjk",
    source="slug",
)
TARGET = Field(
    "url",
    text(format="uri"),
    _("Where it leads."),
    "https://shop.example/orders/1024",
    source="url",
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
    is_checked_later=True,
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
    is_checked_later=True,
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

LINK_FOR_CODE = Field(
    "link",
    nullable(text(format="uri", maxLength=URL_LENGTH)),
    _("A URL to shorten and to send along with the code."),
    required=False,
    is_checked_later=True,
)
LINK_FOR_CODE_LIFETIME = Field(
    "link_expires_in",
    nullable(integer(MINUTE, MONTH)),
    _("After how many seconds that link stops working."),
    required=False,
)
TEXT = Field(
    "text",
    nullable(text(maxLength=TEXT_LENGTH)),
    _(
        "The text of the message. Every whole word `:link` becomes the short link; without "
        "one the link goes to the end."
    ),
    required=False,
    is_multiline=True,
)
NEVER_EXPIRES = Field(
    "never_expires",
    nullable(boolean()),
    _("`true`: for ever; not together with `expires_in`."),
    required=False,
)
ENABLED = Field(
    "enabled",
    nullable(boolean()),
    _("Disables it, or enables it again."),
    required=False,
)

REUSED = Field(
    "reused",
    boolean(),
    _("`true` when this link was there already: of a request with `reuse`."),
    False,
)
BATCH_ID = "bat_0192f0c1a6db7f3a8b4c5d6e7f809102"


def moment(name: str, words: StrOrPromise, example: str | None = None) -> Field:
    return Field(name, nullable(time()), words, example, source=name)


def _count(name: str, words: StrOrPromise, example: int) -> Field:
    return Field(name, integer(0), words, example, source=name)


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
    source="state",
)
ADDRESS = (LINK_ID, SHORTENED_URL, SLUG, TARGET, EXPIRES_AT)
LINK = Shape(
    "Link",
    (
        *ADDRESS,
        Field(
            "alias",
            nullable(text()),
            _("Your own name for it."),
            None,
            source=lambda link: link.slug if link.is_alias else None,
        ),
        STATE,
        TEST,
        Field(
            "created_at",
            time(),
            _("When it was made."),
            "2026-11-20T10:15:12.044Z",
            source="created_at",
        ),
        Field(
            "utm",
            nullable(text()),
            _("The tags that are added to the target."),
            "utm_source=shop&utm_medium={channel}",
            source=lambda link: link.utm or None,
        ),
        Field(
            "expired_url",
            nullable(text(format="uri")),
            _("Where it leads once it has expired."),
            None,
            source=lambda link: link.expired_url or None,
        ),
        Field(
            "once",
            boolean(),
            _("Whether it opens once."),
            False,
            source="is_once",
        ),
        moment("used_at", _("When the one that opens once was opened.")),
        Field(
            "until",
            nullable(UNTIL_NAMES),
            _("`code`: lives no longer than its code."),
            None,
            source=lambda link: "code" if link.dies_with_code else None,
        ),
        Field(
            "batch",
            nullable(identifier("bat")),
            _("The batch it was made in."),
            None,
            source=lambda link: link.batch or None,
        ),
        *COUNTS,
        *CLICK_TIMES,
    ),
)
NEW_URL = replace(URL, schema=nullable(URL.schema), required=False)
NEW_LIFETIME = replace(
    LINK_LIFETIME,
    description=_(
        "After how many seconds from now it stops working; one that has expired works again."
    ),
)
NEW_TAGS = replace(
    TAGS,
    description=_("`true`: add the company's tags as they are now; `false`: add none."),
)
NEW_EXPIRED_URL = replace(
    EXPIRED_URL,
    description=_("Where to lead once it has expired; an empty string: nowhere."),
)
