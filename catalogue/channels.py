"""The channels, each declared once: forms, prices, pages, charts and API schema read them here.
docs/adding-a-provider.md lists what else a new channel needs.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from django.utils.text import format_lazy, get_text_list
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from catalogue.texts import StrOrPromise

# The values of `channels.providers.base.Content`, which may not be imported here.
EVERY_CONTENT = frozenset(
    {"code", "code_with_link", "link", "code_with_text", "custom_digits", "custom_code"}
)


class Patience(NamedTuple):
    """Seconds to wait for a proof before the next channel, by the kind of message."""

    code: int = 30
    link: int = 120


USUAL_PATIENCE = Patience()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Channel:
    """A way to a phone; its vendors are in `channels.vendor_accounts.registry`."""

    name: str  # in the API, the database, settings and metrics; at most 8 characters
    title: StrOrPromise
    code_sent: StrOrPromise  # a whole sentence, so that each language can phrase it freely
    link_sent: StrOrPromise = ""  # the same for links, if it carries them
    price: int  # tokens for a delivered message, unless PRICE_<NAME> is set
    colour: str  # the CSS class `.chart-<colour>` in static/figures.css
    summary: StrOrPromise  # what it carries, for the home page
    contents: frozenset[str] = EVERY_CONTENT
    patience: Patience = USUAL_PATIENCE
    needs_mobile: bool = False  # its vendors reach no landline
    has_segments: bool = False  # the text is counted in SMS segments, and ends with autofill lines
    has_own_texts: bool = True  # companies may write texts of codes; otherwise a vendor's template
    has_template: bool = False  # the vendor approves a template, in `messages.toml` under its name
    # a template with a link button, for links under the service's own host only
    has_link_button: bool = False


# In the order of attempts, unless a company sets another.
CHANNELS = (
    Channel(
        name="whatsapp",
        title="WhatsApp",
        code_sent=_("The code was sent by WhatsApp"),
        link_sent=_("The link was sent by WhatsApp"),
        price=1,
        colour="green",
        summary=_("codes with a copy button, links as a button"),
        contents=EVERY_CONTENT - {"code_with_text"},
        has_own_texts=False,
        has_template=True,
        has_link_button=True,
    ),
    Channel(
        name="telegram",
        title="Telegram",
        code_sent=_("The code was sent by Telegram"),
        link_sent=_("The link was sent by Telegram"),
        price=1,
        colour="blue",
        needs_mobile=True,
        summary=_("codes to any account; links to those who have written to the bot"),
    ),
    Channel(
        name="sms",
        title="SMS",
        code_sent=_("The code was sent by SMS"),
        link_sent=_("The link was sent by SMS"),
        price=16,
        colour="amber",
        summary=_("codes and links to every phone"),
        needs_mobile=True,
        has_segments=True,
    ),
    Channel(
        name="max",
        title="MAX",
        code_sent=_("The code was sent by MAX"),
        link_sent=_("The link was sent by MAX"),
        price=1,
        colour="violet",
        needs_mobile=True,
        summary=_("codes with a copy button and links, to those who have written to the bot"),
    ),
)
BY_NAME = {channel.name: channel for channel in CHANNELS}


def by_stored_name(name: str) -> Channel:
    """The channel of a stored message, even if it is no longer declared."""
    return BY_NAME.get(name) or Channel(
        name=name,
        title=name,
        code_sent=format_lazy(_("The code was sent: {channel}"), channel=name),
        link_sent=format_lazy(_("The link was sent: {channel}"), channel=name),
        price=0,
        colour="",
        summary="",
    )


def choices() -> list[tuple[str, StrOrPromise]]:
    """Choices for model fields, a function so that a new channel needs no migration."""
    return [(channel.name, channel.title) for channel in CHANNELS]


def join_titles(channels: Iterable[Channel] = CHANNELS) -> str:
    """The channels' titles in a sentence: `WhatsApp, Telegram and SMS`."""
    return str(get_text_list([str(channel.title) for channel in channels], gettext("and")))
