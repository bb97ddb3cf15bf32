"""The words a code travels in."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from channels.registry import NotRenderableError, Rendered
from otp import codes

# With a brand of 30 characters the Russian text still fits one SMS segment of 70.
TEXTS = {
    "ru": "Код {code}. Никому его не сообщайте. {brand}",
    "en": "Your code is {code}. Do not share it. {brand}",
}


def render(*, subject_id: UUID, params: Mapping[str, Any], locale: str) -> Rendered:
    """The message of a verification; called by a worker, right before it is handed over."""
    if params.get("key") not in codes.known_keys():
        raise NotRenderableError("the key of this code is no longer in OTP_KEYS")
    code = codes.derive(subject_id, key_id=params["key"], length=params["length"])
    short_url = params.get("short_url")
    return Rendered(text_of(code, params.get("brand", ""), locale, short_url), code, short_url)


def text_of(code: str, brand: str, locale: str, short_url: str | None) -> str:
    text = TEXTS[locale].format(code=code, brand=brand).strip()
    return f"{text}\n{short_url}" if short_url else text
