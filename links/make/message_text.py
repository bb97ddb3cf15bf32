"""The text of a message that carries a link."""

import re
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from channels.extensions import Rendered
from config.channels import BY_NAME

PLACEHOLDER = re.compile(r"(?<![\w:]):link(?!\w)")

TEXTS = {"ru": "Ссылка для вас: :link", "en": "A link for you: :link"}
# In a template that says "a message for you" before it and "the button opens the link" after it.
BESIDE_A_BUTTON = {"ru": "ссылка от {brand}", "en": "a link from {brand}"}
_JOINTS = r"\s:;,.!–—()-"


def with_link(text: str, url: str) -> str:
    """Replaces every whole-word `:link`; without one, the link comes last."""
    replaced, count = PLACEHOLDER.subn(lambda _found: url, text)
    return replaced if count else f"{text} {url}"


def beside_button(text: str, url: str, *, locale: str, brand: str) -> str:
    """The text beside the template's button that has the link, so the text omits it.

    A link inside a sentence stays, because the sentence makes no sense without it.
    """
    if text == with_link(TEXTS[locale], url):
        text = ""
    found = re.escape(url)
    rest = re.sub(rf"^[{_JOINTS}]*{found}[{_JOINTS}]+", "", text)
    rest = re.sub(rf"(^|[{_JOINTS}]+){found}[{_JOINTS}]*$", "", rest).strip()
    return rest or BESIDE_A_BUTTON[locale].format(brand=brand or "Kvitok")


def render(*, subject_id: UUID, params: Mapping[str, Any], locale: str, channel: str) -> Rendered:
    """Renders the message of a link; its text was fixed when it was accepted."""
    text, url = params["text"], params["short_url"]
    if BY_NAME[channel].has_link_button:
        text = beside_button(text, url, locale=locale, brand=params.get("brand", ""))
    return Rendered(text=text, short_url=url)
