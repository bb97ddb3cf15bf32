"""The shared part of our bots in messengers: consent by a contact, proof of delivery, own texts."""

import re
from abc import abstractmethod
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, ClassVar

from catalogue.languages import message_languages, page_languages
from channels.providers import http
from channels.providers.base import (
    AccountRequirements,
    Capabilities,
    Check,
    Content,
    Outgoing,
    UnreachableError,
)
from channels.providers.inbound import BotUpdate, Started, Stopped, TextReceived

# parameter of the link that opens the chat; the bot then asks for the contact
START_PARAMETER = "contact"
_PHONE = re.compile(r"\+?[0-9\s().\u2010-\u2015\-]+")
_SEPARATORS = re.compile(r"[^0-9]")
_COMMANDS: dict[str, type[Started | Stopped]] = {"/start": Started, "/stop": Stopped}


class DeliveredOn(StrEnum):
    """The proof of delivery for a bot, since messengers send no receipts."""

    ACCEPT = "accept"
    CLICK = "click"  # a click on the link, or the entered code
    NEVER = "never"  # only the entered code


class BotText(StrEnum):
    """A text that the bot sends outside of messages."""

    SHARE = "share"
    READY = "ready"
    STOPPED = "stopped"


class Bot(http.HttpProvider):
    """A bot, which can write only to people who shared their contact with it.

    Of a message it learns no more than that the messenger accepted it.
    """

    site: ClassVar[str]  # base URL of the messenger's links to bots
    gone_codes: ClassVar[frozenset[str]]  # codes of refusals that hold until the person comes back

    def __init__(
        self,
        *,
        secret_token: str,
        username: str = "",
        delivered_on: str = DeliveredOn.ACCEPT,
        **connection: Any,
    ) -> None:
        super().__init__(**connection)
        self._secret_token = secret_token
        self._username = username
        self.capabilities = Capabilities(
            frozenset(Content),
            receipts=False,
            needs_contact=True,
            waits_for_person=delivered_on != DeliveredOn.ACCEPT,
            clicks_prove=delivered_on != DeliveredOn.NEVER,
        )

    @property
    def contact_url(self) -> str:
        """The link where a person starts the bot; empty without a configured username."""
        return f"{self.site}/{self._username}?start={START_PARAMETER}" if self._username else ""

    @abstractmethod
    def answer(self, chat_id: int, locale: str, reply: BotText) -> None:
        """Replies to a person who wrote to the bot; SHARE adds a button that shares the number."""

    def more_checks(self, requirements: AccountRequirements) -> list[Check]:
        return [
            Check("secret", bool(self._secret_token)),
            *http.run_check("webhook", lambda: self._webhook(requirements.hook_url)),
        ]

    @abstractmethod
    def _webhook(self, hook_url: str) -> Iterator[Check]:
        """Checks that the vendor calls this address, for all updates that we read."""

    def _chat_of(self, message: Outgoing) -> int:
        self._check(message)
        if message.chat_id is None:
            raise UnreachableError("no_contact", "nobody shared this number with the bot")
        return message.chat_id


def texts(locale: str) -> dict[str, str]:
    of_bot: dict[str, str] = message_languages.texts(locale)["bot"]
    return of_bot


def locale_of(tag: object) -> str:
    """The language of a reply to the person, by the vendor's tag, which may be missing."""
    return message_languages.match(http.text(tag) or page_languages.codes()[0])


def phone_of(written: str) -> str:
    """The phone with its plus; empty for anything else.

    A modified client can send any text as the number of its own card. The messenger, which says
    whose card it is, may read letters, an extension or digits of another script differently.
    """
    digits = _SEPARATORS.sub("", written) if _PHONE.fullmatch(written) else ""
    return f"+{digits}" if 7 <= len(digits) <= 15 else ""


def text_received(text: str, chat_id: int, locale: str) -> BotUpdate | None:
    """The update of a written text: a command, or else the text; None if it is empty.

    The parameter of a link is ignored: it identifies nobody.
    """
    first_word = next(iter(text.split()), "")
    command = _COMMANDS.get(first_word.partition("@")[0].lower())
    if command:
        return command(chat_id, locale)
    return TextReceived(text, chat_id, locale) if text else None
