"""The declaration in a vendor's folder: options of an account, texts of its errors, setup steps.

Pure data, which the settings read: nothing here or in a `vendor.py` may import a provider.
"""

import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext_lazy as _

from catalogue.account_options import Option, one_of
from catalogue.texts import StrOrPromise

Texts = Mapping[str, StrOrPromise]
ACCOUNT_NAME = re.compile(r"[a-z][a-z0-9]{0,11}")


@dataclass(frozen=True, slots=True)
class Snippet:
    """A text to copy to the vendor. In it `{hook_url}`, `{short_url}` and the account's options
    are filled in.
    """

    label: StrOrPromise
    text: str


ADDRESS = Snippet(_("Webhook address"), "{hook_url}")


@dataclass(frozen=True, slots=True)
class SetupStep:
    """In the vendor's own terms."""

    where: str  # the vendor's own names of pages, in its language
    what: StrOrPromise
    options: tuple[str, ...] = ()  # found or chosen there
    copies: tuple[Snippet, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendor:
    name: str  # of its first account; further ones are `name:account`
    title: str  # the vendor's product, as people know it
    position: int  # in the default order of preference
    class_name: str  # of the class in the folder's `provider.py`
    options: tuple[Option, ...]
    steps: tuple[SetupStep, ...]  # what the first send needs comes first
    console: str = ""  # the address of the vendor's own pages
    required: str = "token"  # the option without which an account is not configured
    url: str = ""  # of its API over HTTP
    takes_callback_url: bool = False  # each send names the webhook's URL
    has_further_accounts: bool = True
    max_per_second: int | None = None  # messages that it takes from an account
    split: Callable[[str], dict[str, str]] | None = None  # options written as one URL
    check: Callable[[Mapping[str, Any]], str] = lambda _options: ""  # what is wrong, or ""
    simulated: str = ""  # the channel that the simulator plays it for
    failures: Texts = field(default_factory=dict)  # by the vendor's code of an attempt or receipt
    alerts: Texts = field(default_factory=dict)  # by the code of an alert, for operators
    advice: Texts = field(default_factory=dict)  # for the company, by the code
    checks: Texts = field(default_factory=dict)  # titles of its own checks, by topic
    cures: Texts = field(default_factory=dict)  # for operators, by the topic of a check
    folder: str = ""

    @property
    def prefix(self) -> str:
        """Prefix of the names of its variables."""
        return self.folder.upper()

    @property
    def hook(self) -> str:
        """The path of its webhook under /hooks/; empty if it calls none."""
        return self.folder.replace("_", "-") if self.url else ""

    @property
    def fields(self) -> tuple[Option, ...]:
        """The options that operators may enter in the admin."""
        return tuple(option for option in self.options if option.label)

    def variable(self, option: str, account: str = "") -> str:
        """The name of an option's variable: `TWILIO_FROM`, or `TWILIO_KZ_FROM` of an account."""
        prefix = f"{self.prefix}_{account.upper()}_" if account else f"{self.prefix}_"
        if self.split:
            return f"{prefix}URL"
        ends = {field.name: field.variable for field in self.options}
        return prefix + (ends.get(option) or option.upper())


def texts(*rows: tuple[Iterable[str], StrOrPromise]) -> Texts:
    """The same text for each of several codes."""
    return {code: text for codes, text in rows for code in codes}


BOT_OPTIONS = (
    Option(
        "username",
        _("Name of the bot, without @"),
        read=lambda text: text.removeprefix("@"),
        simulated="simulator_bot",
    ),
    Option(
        "secret_token",
        _("Secret token of the webhook"),
        variable="SECRET",
        is_ours=True,
        simulated=lambda: secrets.token_urlsafe(24),
    ),
    Option("delivered_on", default="accept", read=one_of("accept", "click", "never")),
)
NO_CONTACT = _("The person has not shared this number with the bot.")
OPEN_THE_BOT = _(
    "Ask the person to open the bot and share their number, or send by another channel."
)

ACCOUNT_FAULT = _(
    "The service's account with the provider has a problem. The operator has been notified."
)
BAD_NUMBER = _("The provider does not accept this number.")
BUSY = _("The provider could not accept the message at that moment.")
NO_ACCOUNT_THERE = _(
    "This number has no account in this messenger, or cannot receive messages of this kind."
)
OTHER_CHANNEL = _("This channel does not reach the number. Send by another one.")
TOO_FAST = _("The provider asks us to send more slowly.")
