"""The words a code travels in: a template of the company's or ours, and its variables filled in."""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.conf import settings

from accounts.keys.own_texts import NO_TEXTS, CompanyTexts
from accounts.names import brand_names
from channels.extensions import NotRenderableError, Rendered
from channels.providers.base import Channel
from otp import codes

# With a brand of 30 characters the Russian text still fits one SMS segment of 70.
TEXTS = {
    "ru": "Код {code}. Никому его не сообщайте. {brand}",
    "en": "Your code is {code}. Do not share it. {brand}",
}
VARIABLES = ("code", "brand", "minutes", "link")
_VARIABLE = re.compile(rf"\{{({'|'.join(VARIABLES)})\}}")
BRAND_UNITS = 30  # of UTF-16: so long a brand is shown at most, which bounds the length of an SMS


def render(*, subject_id: UUID, params: Mapping[str, Any], locale: str, channel: str) -> Rendered:
    """The message of a verification; called by a worker, right before it is handed over.

    Its template is what it was accepted with, whatever the company has changed since.
    """
    if params.get("key") not in codes.known_keys():
        raise NotRenderableError("the key of this code is no longer in OTP_KEYS")
    code = codes.derive(subject_id, key_id=params["key"], length=params["length"])
    short_url = params.get("short_url")
    own = params.get("texts", {}).get(channel)
    text = fill(
        own or compose(TEXTS[locale], has_link=bool(short_url)),
        code=code,
        brand=params.get("brand", ""),
        minutes=params.get("minutes"),
        link=short_url,
    )
    return Rendered(text, code, short_url)


def max_minutes() -> int:
    return int(settings.CODE_LIFETIME) // 60


def fill(template: str, *, code: str, brand: str, minutes: int | None, link: str | None) -> str:
    """In one pass, so that a brand which looks like a variable stays what it is."""
    values = {
        "code": code,
        "brand": _displayed_brand(brand),
        "minutes": str(minutes or max_minutes()),
        "link": link or "",
    }
    return _VARIABLE.sub(lambda found: values[found[1]], template).strip()


def _displayed_brand(brand: str) -> str:
    if not brand_names.is_valid(brand):  # set before anybody asked, or a name of the company's
        return ""
    if 2 * len(brand) <= BRAND_UNITS:
        return brand
    cut = brand.encode("utf-16-le", "surrogatepass")[: 2 * BRAND_UNITS]
    return cut.decode("utf-16-le", "ignore")


def compose(body: str, *, has_link: bool, tail: Sequence[str] = ()) -> str:
    """The template of one message: the line with the link in its place, at the end, or left out;
    then the lines that programs read.
    """
    lines = body.split("\n")
    if not has_link:
        lines = [line for line in lines if "{link}" not in line]
    elif "{link}" not in body:
        lines.append("{link}")
    return "\n".join(["\n".join(lines).strip(), *tail])


def template(
    own: CompanyTexts,
    *,
    channel: Channel,
    locale: str,
    purpose: str,
    has_link: bool,
    body: str | None = None,
) -> str:
    """What goes by this channel: the company's text, or ours where it has none; or this body."""
    body = (
        body
        or company_template(own, channel=channel, locale=locale, purpose=purpose)
        or TEXTS[locale]
    )
    return compose(
        body, has_link=has_link, tail=autofill_lines(own) if channel is Channel.SMS else ()
    )


def company_template(
    own: CompanyTexts, *, channel: Channel, locale: str, purpose: str
) -> str | None:
    """The most specific text of the company's; WhatsApp's wording is the vendor's template."""
    if not own.bodies or channel is Channel.WHATSAPP:
        return None
    keys = [(purpose, channel.value), (purpose, ""), ("", channel.value), ("", "")]
    found = (own.bodies.get((locale, *key)) for key in keys)
    return next((body for body in found if body), None)


def autofill_lines(own: CompanyTexts) -> list[str]:
    """The lines of an SMS that a phone's programs look for. The browser's must be the last:
    https://wicg.github.io/sms-one-time-codes/; Android looks for its own anywhere in the text.
    """
    webotp = f"@{own.webotp_host} #{{code}}" if own.webotp_host else ""
    return [line for line in (own.app_hash, webotp) if line]


def snapshot(
    own: CompanyTexts, *, channels: Sequence[Channel], locale: str, purpose: str, has_link: bool
) -> dict[str, str]:
    """By channel, what a message keeps of how it was worded when it was accepted."""
    if own is NO_TEXTS:
        return {}
    return {
        channel.value: template(
            own, channel=channel, locale=locale, purpose=purpose, has_link=has_link
        )
        for channel in channels
        if channel is not Channel.WHATSAPP
    }
