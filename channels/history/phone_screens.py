"""A test key's messages with the code, as the phone would show them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha1

from catalogue.channels import by_stored_name
from channels import extensions
from channels.models import Message
from channels.providers.telegram_gateway.provider import TelegramGateway
from channels.vendor_accounts.registry import codes_go_by_gateway

ARRIVED = {Message.State.SENT, Message.State.DELIVERED}


@dataclass(frozen=True, slots=True)
class Bubble:
    message: Message
    text: str | None  # None: it can no longer be rendered, as without the key of the code
    code: str | None
    button: str | None = None  # the URL of the button under the text

    @property
    def is_vendor_worded(self) -> bool:
        """Whether the vendor words the code itself, as Telegram Gateway does."""
        is_gateway = self.message.channel == TelegramGateway.channel and codes_go_by_gateway()
        return is_gateway and self.code is not None and "short_url" not in self.message.params

    @property
    def has_arrived(self) -> bool:
        return self.message.state in ARRIVED


@dataclass(slots=True)
class Screen:
    phone: str
    bubbles: list[Bubble] = field(default_factory=list)


def render(message: Message) -> tuple[str | None, str | None]:
    """Returns (text, code) as the worker would send them."""
    params = message.params
    kind = extensions.kinds[message.kind]
    if extensions.CUSTOM_CODE in params:
        sealed = kind.find_custom_codes([message.pk])
        params = params | {extensions.CUSTOM_CODE: sealed.get(message.pk)}
    try:
        rendered = kind.render(
            subject_id=message.subject_id,
            params=params,
            locale=message.language,
            channel=message.channel,
        )
    except extensions.NotRenderableError:
        return None, None
    return rendered.text, rendered.code


def phone_screens(messages: Iterable[Message]) -> list[Screen]:
    """One screen per phone, in order of first appearance; test messages only."""
    screens: dict[str, Screen] = {}
    for message in messages:
        screen = screens.setdefault(message.phone, Screen(message.phone))
        screen.bubbles.append(bubble(message))
    return list(screens.values())


def bubble(message: Message) -> Bubble:
    assert message.mode == "test", "codes of live messages are shown to nobody"  # noqa: S101
    text, code = render(message)
    return Bubble(message, text, code, _button(message, text))


def _button(message: Message, text: str | None) -> str | None:
    url = str(message.params.get("short_url") or "")
    is_on_button = (
        by_stored_name(message.channel).has_link_button and text is not None and url not in text
    )
    return url if url and is_on_button else None


def fingerprint(messages: Iterable[Message]) -> str:
    """A hash that changes whenever the shown messages or their states change."""
    text = " ".join(f"{message.pk.hex}{message.state}" for message in messages)
    return sha1(text.encode(), usedforsecurity=False).hexdigest()[:16]
