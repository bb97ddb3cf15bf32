"""The declaration in a vendor's folder: options of an account, texts of its errors, setup steps.

Pure data read by the settings: nothing here or in a `vendor.py` may import a provider.
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
    """A text to copy to the vendor, in which `{hook_url}`, `{short_url}` and the account's options
    are filled in.
    """

    label: StrOrPromise
    text: str


ADDRESS = Snippet(_("Webhook address"), "{hook_url}")


@dataclass(frozen=True, slots=True)
class SetupStep:
    """A setup step in the vendor's own terms."""

    where: str  # the vendor's names of pages, in its language
    what: StrOrPromise
    options: tuple[str, ...] = ()  # options found or chosen in this step
    copies: tuple[Snippet, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendor:
    name: str  # name of its first account; further accounts are `name:account`
    title: str  # the vendor's product, as people know it
    position: int  # position in the default order of preference
    class_name: str  # name of the class in the folder's `provider.py`
    options: tuple[Option, ...]
    steps: tuple[SetupStep, ...]  # what the first send needs comes first
    console: str = ""  # address of the vendor's own pages
    required: str = "token"  # the option without which an account is not configured
    url: str = ""  # base URL of its HTTP API
    takes_callback_url: bool = False  # each send names the webhook's URL
    has_further_accounts: bool = True
    max_per_second: int | None = None  # rate of messages that it accepts from an account
    split: Callable[[str], dict[str, str]] | None = None  # options written as one URL
    check: Callable[[Mapping[str, Any]], str] = lambda _options: ""  # the fault, or ""
    simulated: str = ""  # the channel for which the simulator plays the vendor
    failures: Texts = field(default_factory=dict)  # by the vendor's code in an attempt or receipt
    alerts: Texts = field(default_factory=dict)  # for operators, by the code of an alert
    advice: Texts = field(default_factory=dict)  # for the company, by code
    checks: Texts = field(default_factory=dict)  # titles of the vendor's own checks, by topic
    remedies: Texts = field(default_factory=dict)  # advice to operators, by topic of a check
    folder: str = ""
    stem: str = ""  # of its variables and its webhook's path; by default the folder

    @property
    def prefix(self) -> str:
        """The prefix of its variable names."""
        return (self.stem or self.folder).upper()

    @property
    def hook(self) -> str:
        """The path of its webhook under /hooks/; empty if it calls none."""
        return (self.stem or self.folder).replace("_", "-") if self.url else ""

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
    """Maps codes to texts; each row is the codes of one text."""
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
