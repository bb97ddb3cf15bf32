"""What a test key's messages would have shown on the phone, the code included."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha1

from channels import extensions
from channels.models import Message

ARRIVED = {Message.State.SENT, Message.State.DELIVERED}


@dataclass(frozen=True, slots=True)
class Bubble:
    message: Message
    text: str | None  # None: the key of its code is gone, and with it the code
    code: str | None
    button: str | None = None  # where the button under the text leads

    @property
    def has_arrived(self) -> bool:
        return self.message.state in ARRIVED


@dataclass(slots=True)
class Screen:
    phone: str
    bubbles: list[Bubble] = field(default_factory=list)


def render(message: Message) -> tuple[str | None, str | None]:
    """(text, code) as the worker would have handed them over."""
    try:
        found = extensions.renderer(message.kind)(
            subject_id=message.subject_id,
            params=message.params,
            locale=message.locale,
            channel=message.channel,
        )
    except extensions.NotRenderableError:
        return None, None
    return found.text, found.code


def phone_screens(messages: Iterable[Message]) -> list[Screen]:
    """One for each phone, in the order in which the phones come; only for test messages."""
    found: dict[str, Screen] = {}
    for message in messages:
        assert message.mode == "test", "codes of live messages are shown to nobody"  # noqa: S101
        screen = found.setdefault(message.phone, Screen(message.phone))
        text, code = render(message)
        screen.bubbles.append(Bubble(message, text, code, _button(message, text)))
    return list(found.values())


def _button(message: Message, text: str | None) -> str | None:
    url = str(message.params.get("short_url") or "")
    is_on_a_button = message.channel == "whatsapp" and text is not None and url not in text
    return url if url and is_on_a_button else None


def fingerprint(messages: Iterable[Message]) -> str:
    """Changes when what is shown does."""
    text = " ".join(f"{message.pk.hex}{message.state}" for message in messages)
    return sha1(text.encode(), usedforsecurity=False).hexdigest()[:16]
