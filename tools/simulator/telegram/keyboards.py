"""`reply_markup` of a bot's message: which links its buttons open."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tools.simulator.request_bodies import MalformedError, json_object, mappings

ACTIONS = ("url", "callback_data", "web_app", "login_url", "copy_text", "switch_inline_query")


class ButtonError(Exception):
    """What the vendor says is wrong with a button."""


@dataclass(frozen=True, slots=True)
class Keyboard:
    sent: dict[str, Any] | None = None
    links: list[tuple[str, str]] = field(default_factory=list)  # label, URL


def read_keyboard(markup: object) -> Keyboard:
    """Read it as an object, or as the JSON that a form carries."""
    if isinstance(markup, str) and markup:
        markup = json_object(markup.encode())
    if not markup:
        return Keyboard()
    if not isinstance(markup, dict):
        raise MalformedError
    if "inline_keyboard" not in markup:
        return Keyboard()  # a reply keyboard is the person's: the message does not have it
    rows = markup["inline_keyboard"]
    if not isinstance(rows, list):
        raise MalformedError
    buttons = [button for row in rows for button in mappings(row)]
    return Keyboard(markup, [link for button in buttons for link in _link(button)])


def _link(button: dict[str, Any]) -> list[tuple[str, str]]:
    label = button.get("text")
    if not isinstance(label, str) or not label.strip():
        raise ButtonError("inline keyboard button text is empty")
    if not any(action in button for action in ACTIONS):
        raise ButtonError("Text buttons are unallowed in the inline keyboard")
    if "url" not in button:
        return []
    url = button["url"]
    if not isinstance(url, str) or not _opens(url):
        raise ButtonError("BUTTON_URL_INVALID")
    return [(label, url)]


def _opens(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https", "tg"} and bool(parts.netloc) and " " not in url
