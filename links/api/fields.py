"""Fields of short links in requests and responses, except those of `lifetime_fields`."""

from dataclasses import replace

from django.utils.translation import gettext_lazy as _

from api.calls import (
    TEST,
    Field,
    Shape,
    boolean,
    choice,
    identifier,
    integer,
    moment,
    nullable,
    option,
    text,
    time,
)
from catalogue.texts import StrOrPromise
from links.addresses.target_urls import MAX_LENGTH as URL_LENGTH
from links.api.lifetime_fields import EXPIRES_AT, LINK_LIFETIME, UNTIL_NAMES
from parsing.characters import normalised

TEXT_LENGTH = 500
STATE_NAMES = choice(["active", "expired", "disabled", "used"], "LinkState")

URL = Field(
    "url",
    text(format="uri", minLength=1, maxLength=URL_LENGTH),
    _(
        "An absolute URL that starts with `http://` or `https://`. IP addresses, local names "
        "and other URL shorteners are rejected."
    ),
    "https://shop.example/orders/1024",
    is_checked_later=True,
)
ALIAS = option(
    "alias",
    text(minLength=3, maxLength=64),
    _(
        "A custom slug for the link: Latin letters, digits, hyphens and underscores; case is "
        "ignored."
    ),
    is_checked_later=True,
)
SHORT_URL = Field(
    "short_url", text(format="uri"), _("The short link."), "https://kvitok.example/bcdfghjkmn"
)

LINK_ID = Field(
    "id",
    identifier("lnk"),
    _("The link's id."),
    "lnk_0192f0c1a6da7e2f9a3b4c5d6e7f8091",
    source="public_id",
)
SLUG = Field("slug", text(), _("The part of the short link after the slash."), "bcdfghjk")
TARGET = Field(
    "url",
    text(format="uri"),
    _("The URL that the link redirects to."),
    "https://shop.example/orders/1024",
)
SHORTENED_URL = replace(SHORT_URL, example="https://kvitok.example/bcdfghjk")

HOST = option(
    "host",
    text(format="hostname", maxLength=253),
    _(
        "The host of the short link: one of the company's own hosts or the service's host. By"
        " default the company's setting."
    ),
    is_checked_later=True,
)
TAGS = option("utm", boolean(), _("`false`: do not add the company's UTM tags to the target URL."))
EXPIRED_URL = option(
    "expired_url",
    text(maxLength=URL_LENGTH),
    _(
        "The URL to redirect to after the link expires. By default the company's setting; an "
        "empty string for none."
    ),
    is_checked_later=True,
)
ONCE = option(
    "once", boolean(), _("`true`: the link opens only once, after the visitor presses a button.")
)
REUSE = option(
    "reuse",
    boolean(),
    _(
        "`true`: return an existing active link with the same settings, if there is one. "
        "Cannot be combined with `alias` or `once`."
    ),
)
OPTIONS = (HOST, TAGS, EXPIRED_URL, ONCE)
NEW_LINK = Shape("NewLink", (URL, ALIAS, LINK_LIFETIME, *OPTIONS, REUSE))

LINK_FOR_CODE = option(
    "link",
    text(format="uri", maxLength=URL_LENGTH),
    _("A URL to shorten and send with the code."),
    is_checked_later=True,
)
TEXT = option(
    "text",
    text(maxLength=TEXT_LENGTH),
    _(
        "The text of the message. Each whole word `:link` is replaced by the short link; "
        "without one, the link is appended."
    ),
    is_multiline=True,
    normalise=normalised,
)
ENABLED = option("enabled", boolean(), _("`false` disables the link, `true` enables it again."))

REUSED = Field(
    "reused",
    boolean(),
    _("`true` if an existing link was returned for a request with `reuse`."),
    False,
)
BATCH_ID = "bat_0192f0c1a6db7f3a8b4c5d6e7f809102"


def _count(name: str, text: StrOrPromise, example: int) -> Field:
    return Field(name, integer(0), text, example)


COUNTS = (
    _count("clicks", _("The number of clicks by people."), 42),
    _count(
        "previews",
        _(
            "The number of automatic fetches on behalf of people: messenger previews and browser "
            "prefetching."
        ),
        7,
    ),
    _count("scanners", _("The number of requests by bots, virus scanners and scripts."), 3),
)
CLICK_TIMES = (
    moment(
        "first_click_at", _("When a person first clicked the link."), "2026-11-20T10:17:40.512Z"
    ),
    moment("last_click_at", _("When a person last clicked the link."), "2026-11-20T18:02:05.004Z"),
)
STATE = Field(
    "state",
    STATE_NAMES,
    _(
        "The state of the link: it works, it has expired, it was disabled (alone or with its "
        "batch), or, for a link that opens once, it has been used."
    ),
    "active",
)
ADDRESS = (LINK_ID, SHORTENED_URL, SLUG, TARGET, EXPIRES_AT)
LINK = Shape(
    "Link",
    (
        *ADDRESS,
        Field(
            "alias",
            nullable(text()),
            _("The custom slug, if the link has one."),
            source=lambda link: link.slug if link.is_alias else None,
        ),
        STATE,
        TEST,
        Field("created_at", time(), _("When the link was created."), "2026-11-20T10:15:12.044Z"),
        Field(
            "utm",
            nullable(text()),
            _("The UTM tags added to the target URL."),
            "utm_source=shop&utm_medium={channel}",
        ),
        Field(
            "expired_url",
            nullable(text(format="uri")),
            _("The URL that the link redirects to after it expires."),
        ),
        Field("once", boolean(), _("Whether the link opens only once."), False, source="is_once"),
        moment("used_at", _("When the link was used, if it opens only once.")),
        Field(
            "until",
            nullable(UNTIL_NAMES),
            _("`code` if the link stops working with its code."),
            source=lambda link: "code" if link.dies_with_code else None,
        ),
        Field(
            "batch",
            nullable(identifier("bat")),
            _("The id of the batch in which the link was created."),
        ),
        *COUNTS,
        *CLICK_TIMES,
    ),
)
NEW_URL = replace(URL, schema=nullable(URL.schema), required=False)
NEW_TAGS = replace(
    TAGS, description=_("`true`: add the company's current UTM tags; `false`: add none.")
)
NEW_EXPIRED_URL = replace(
    EXPIRED_URL,
    description=_("The URL to redirect to after the link expires; an empty string for none."),
)
