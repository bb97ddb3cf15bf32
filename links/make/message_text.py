"""The text of a message with a link: `:link` in it, or a button with the link next to it."""

import re
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from catalogue.channels import BY_NAME
from catalogue.languages import message_languages
from channels.extensions import NotRenderableError, Rendered

PLACEHOLDER = re.compile(r"(?<![\w:]):link(?!\w)")

_JOINTS = r"\s:;,.!–—()-"


def with_link(text: str, url: str) -> str:
    """Replaces every whole-word `:link`; appends the link if there is none."""
    replaced, count = PLACEHOLDER.subn(lambda _found: url, text)
    return replaced if count else f"{text} {url}"


def beside_button(text: str, url: str, *, locale: str, brand: str) -> str:
    """The text next to the template's button, which has the link, so the text omits it.

    A link inside a sentence stays, because the sentence makes no sense without it.
    """
    if text in {
        with_link(message_languages.texts(code)["link"], url) for code in message_languages.codes()
    }:
        text = ""  # our sentence, possibly in another language than the template's
    site = re.escape(url)
    remaining = re.sub(rf"^[{_JOINTS}]*{site}[{_JOINTS}]+", "", text)
    remaining = re.sub(rf"(^|[{_JOINTS}]+){site}[{_JOINTS}]*$", "", remaining).strip()
    return remaining or str(message_languages.texts(locale)["link_beside_a_button"]).format(
        brand=brand or "Kvitok"
    )


def render_link(
    *, subject_id: UUID, params: Mapping[str, Any], locale: str, channel: str
) -> Rendered:
    """Renders the message of a link; its text was fixed at acceptance."""
    text = params["text"]
    url = params["short_url"]
    if url is None:
        raise NotRenderableError("the person was erased, and the link with them")
    if BY_NAME[channel].has_link_button:
        text = beside_button(text, url, locale=locale, brand=params.get("brand", ""))
    return Rendered(text=text, short_url=url)
