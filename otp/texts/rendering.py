"""Renders the text of a code from the company's template or the service's default."""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.conf import settings

from accounts.keys.principal import NO_TEXTS, CompanyTexts
from accounts.names import is_valid_brand
from catalogue.channels import Channel, by_stored_name
from catalogue.languages import message_languages
from channels.extensions import CUSTOM_CODE, NotRenderableError, Rendered, WithdrawnError
from otp import codes
from otp.sealed_codes import SealedCode
from otp.texts import own_texts

VARIABLES = ("code", "brand", "minutes", "link")
_VARIABLE = re.compile(rf"\{{({'|'.join(VARIABLES)})\}}")
BRAND_UNITS = 30  # UTF-16 units; longer brands are cut to bound the length of an SMS


def render(*, subject_id: UUID, params: Mapping[str, Any], locale: str, channel: str) -> Rendered:
    """Renders a verification's message; a worker calls it right before it hands the message over.

    Uses the template with which the message was accepted, not a later one.
    """
    code = _code(subject_id, params)
    text = text_with(code, params=params, locale=locale, channel=channel)
    return Rendered(text, code, params.get("short_url"))


def text_with(code: str, *, params: Mapping[str, Any], locale: str, channel: str) -> str:
    """The text of a verification's message with `code` in place of its code."""
    short_url = params.get("short_url")
    body = params.get("texts", {}).get(channel)
    return fill(
        body or _default(by_stored_name(channel), locale=locale, has_link=bool(short_url)),
        code=code,
        brand=params.get("brand", ""),
        minutes=params.get("minutes"),
        link=short_url,
    )


def _code(verification_id: UUID, params: Mapping[str, Any]) -> str:
    if CUSTOM_CODE in params:
        if not isinstance(sealed := params[CUSTOM_CODE], SealedCode):
            raise WithdrawnError("the custom code is no longer kept")
        return sealed.open()
    if params.get("key") not in codes.known_keys():
        raise NotRenderableError("the key of this code is no longer in OTP_KEYS")
    return codes.derive(verification_id, key_id=params["key"], length=params["length"])


def _default(channel: Channel, *, locale: str, has_link: bool) -> str:
    """The vendor's template if the vendor words the message, else the service's text."""
    if channel.has_template:
        sentence = message_languages.texts(locale)[channel.name].get(
            "code_with_link" if has_link else "code"
        )
        if sentence:  # the vendor's text in this language is unknown otherwise
            return str(sentence)
    return compose(message_languages.texts(locale)["code"], has_link=has_link)


def max_minutes() -> int:
    return int(settings.CODE_LIFETIME) // 60


def fill(template: str, *, code: str, brand: str, minutes: int | None, link: str | None) -> str:
    """The template with its variables filled in, in one pass: a brand may look like a variable."""
    values = {
        "code": code,
        "brand": _displayed_brand(brand),
        "minutes": str(minutes or max_minutes()),
        "link": link or "",
    }
    return _VARIABLE.sub(lambda match: values[match[1]], template).strip()


def _displayed_brand(brand: str) -> str:
    if not is_valid_brand(brand):  # set before brands were validated, or the company's name
        return ""
    if 2 * len(brand) <= BRAND_UNITS:
        return brand
    cut = brand.encode("utf-16-le", "surrogatepass")[: 2 * BRAND_UNITS]
    return cut.decode("utf-16-le", "ignore")


def compose(body: str, *, has_link: bool, tail: Sequence[str] = ()) -> str:
    """The template of one message.

    The line with the link is kept, appended or removed; the autofill lines follow.
    """
    lines = body.split("\n")
    if not has_link:
        lines = [line for line in lines if "{link}" not in line]
    elif "{link}" not in body:
        lines.append("{link}")
    return "\n".join(["\n".join(lines).strip(), *tail])


def template(
    texts: CompanyTexts,
    *,
    channel: Channel,
    locale: str,
    purpose: str,
    has_link: bool,
    body: str | None = None,
    line: str = "",
) -> str:
    """The template for a channel: `body`, else the company's text or the default; then `line`."""
    body = body or own_texts.template(texts, channel=channel, locale=locale, purpose=purpose)
    if not body and channel.has_template:
        return _default(channel, locale=locale, has_link=has_link)
    tail = [line] if line else []
    tail += own_texts.autofill_lines(texts) if channel.has_segments else []
    return compose(body or message_languages.texts(locale)["code"], has_link=has_link, tail=tail)


def snapshot(
    texts: CompanyTexts,
    *,
    channels: Sequence[Channel],
    body: str | None = None,
    line: str = "",
    **more: Any,
) -> dict[str, str]:
    """The templates by channel that a message stores at its acceptance.

    `body` applies to this message only, `line` is below it, and `more` is for `template`.
    """
    if texts is NO_TEXTS and not body and not line:
        return {}
    return {
        channel.name: template(texts, channel=channel, body=body, line=line, **more)
        for channel in channels
        if channel.has_own_texts
    }
