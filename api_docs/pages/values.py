"""Settings whose values the pages mention, and values formatted as text."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from django.conf import settings
from django.utils.translation import gettext, ngettext

from accounts import key_issuing
from accounts.keys import api_keys
from api import idempotency, pagination
from api.calls import TIME_OR_DAY, Schema
from catalogue.channels import BY_NAME, CHANNELS, USUAL_PATIENCE, join_titles
from catalogue.texts import StrOrPromise
from channels.routing import lookup
from links.addresses.target_urls import MAX_LENGTH as URL_LENGTH
from links.api.fields import TEXT_LENGTH
from links.api.lifetime_fields import FIVE_YEARS, MINUTE, MONTH
from links.api.views import BULK_BODY
from links.clicks import bot_detection
from links.make.bulk import MAX_LINKS
from links.manage import stopping
from otp.models import CodeText
from otp.texts import own_texts, rendering, rules
from otp.web.calls import PURPOSE
from webhooks import endpoints, http_call

DAY = 86_400
# Used from two on (60 seconds, not 1 minute), so that any language can put "after" before them.
UNITS: tuple[tuple[int, Callable[[int], str]], ...] = (
    (365 * DAY, lambda n: ngettext("%(n)s year", "%(n)s years", n)),
    (DAY, lambda n: ngettext("%(n)s day", "%(n)s days", n)),
    (3600, lambda n: ngettext("%(n)s hour", "%(n)s hours", n)),
    (60, lambda n: ngettext("%(n)s minute", "%(n)s minutes", n)),
)


def duration(seconds: int) -> str:
    """The duration in the largest unit that divides it: 600 is 10 minutes, 90 is 90 seconds."""
    for size, unit in UNITS:
        count, rest = divmod(seconds, size)
        if not rest and count > 1:
            return unit(count) % {"n": count}
    return ngettext("%(n)s second", "%(n)s seconds", seconds) % {"n": seconds}


def windows(pairs: Sequence[tuple[int, int]]) -> str:
    """A list of limits as text: (5, 600) is "5 in 10 minutes"."""
    return ", ".join(
        gettext("%(count)s in %(time)s") % {"count": count, "time": duration(seconds)}
        for count, seconds in pairs
    )


def tokens(count: int) -> str:
    return ngettext("%(n)s token", "%(n)s tokens", count) % {"n": count}


def kind(schema: Schema, *, is_nested: bool = False) -> str:
    """The type and bounds of a field as text, with code in backticks."""
    kind = gettext("list of objects") if is_nested else _one_kind(schema)
    return f"{kind} {gettext('or')} `null`" if schema.get("nullable") else kind


def _one_kind(schema: Schema) -> str:
    if "enum" in schema:
        return " | ".join(f"`{value}`" for value in schema["enum"] if value is not None)
    if schema["type"] == "array":
        return gettext("list of %(kind)s") % {"kind": kind(schema["items"])}
    if schema.get("pattern") == TIME_OR_DAY:
        return gettext("time or day, ISO 8601, UTC unless it names a zone")
    if schema.get("format") == "date-time":
        return gettext("time, ISO 8601 UTC")
    return _bounds(schema) or _type_title(schema["type"])


def _bounds(schema: Schema) -> str | None:
    minimum = schema.get("minLength", schema.get("minimum"))
    bounds = {"minimum": minimum, "maximum": schema.get("maxLength", schema.get("maximum"))}
    if bounds["maximum"] is None:
        return None
    if schema["type"] == "integer":
        return gettext("integer, %(minimum)s to %(maximum)s") % bounds
    if minimum:
        return gettext("string, %(minimum)s to %(maximum)s characters") % bounds
    return gettext("string, up to %(maximum)s characters") % bounds


def _type_title(name: str) -> str:
    return {
        "string": gettext("string"),
        "integer": gettext("integer"),
        "boolean": gettext("`true` or `false`"),
        "object": gettext("object"),
    }[name]


class ChannelPrice(NamedTuple):
    title: StrOrPromise
    tokens: int


def numbers() -> dict[str, Any]:
    return {
        "channels": CHANNELS,
        "channel_titles": join_titles(),
        "prices": [
            ChannelPrice(BY_NAME[name].title, price) for name, price in settings.PRICES.items()
        ],
        "sms_segments": settings.MAX_SMS_SEGMENTS,
        "code_lifetime": settings.CODE_LIFETIME,
        "code_attempts": settings.CODE_ATTEMPTS,
        "resend_margin": settings.RESEND_MARGIN,
        "cool_down": settings.COOL_DOWN,
        "code_limits": settings.CODE_LIMITS,
        "link_limits": settings.LINK_LIMITS,
        "budget_day": settings.BUDGET_DAY,
        "budget_hour": settings.BUDGET_COUNTRY_HOUR,
        "phone_pool": settings.PHONE_POOL[0],
        "phone_reserve": settings.PHONE_RESERVE[0],
        "reserved_sends": settings.RESERVED_SENDS,
        "phone_wait": settings.PHONE_POOL[1] // settings.PHONE_POOL[0],
        "release_limit": settings.RELEASE_LIMIT,
        "wrong_code_limits": settings.WRONG_CODE_LIMITS,
        "refused_verify_limit": settings.REFUSED_VERIFY_LIMIT,
        "lookup_limit": lookup.LIMIT,
        "api_rate": settings.API_RATE,
        "test_quotas": settings.TEST_QUOTAS,
        "api_body": settings.MAX_API_BODY // 1024,
        "bulk_body": BULK_BODY // 1024,
        "send_wait": int(settings.SEND_WAIT),
        "patience_range": settings.PATIENCE_RANGE,
        "patience_code": USUAL_PATIENCE.code,
        "patience_link": USUAL_PATIENCE.link,
        "other_patience": [channel for channel in CHANNELS if channel.patience != USUAL_PATIENCE],
        "hold_code": settings.HOLD_DEADLINE["code"],
        "hold_link": settings.HOLD_DEADLINE["link"],
        "click_retention": settings.RAW_RETENTION * 86_400,
        "time_zone": settings.TIME_ZONE,
        "bulk": MAX_LINKS,
        "stopped_batches": stopping.MAX_STOPPED_BATCHES,
        "scanner_window": int(bot_detection.SCANNER_WINDOW),
        "misses": settings.LINK_MISS_LIMIT,
        "phone_retention": settings.PHONE_RETENTION * 86_400,
        "page": pagination.PAGE_SIZE,
        "largest_page": pagination.MAX_PAGE_SIZE,
        "active_keys": key_issuing.MAX_ACTIVE_KEYS,
        "revoke": int(api_keys.CACHE_SECONDS),
        "idempotency_key": idempotency.MAX_LENGTH,
        "purpose": PURPOSE.schema["maxLength"],
        "text": TEXT_LENGTH,
        "texts": own_texts.MAX_TEXTS,
        "text_body": CodeText.MAX_LENGTH,
        "brand": rendering.BRAND_UNITS,
        "android_bytes": rules.ANDROID_MAX_BYTES,
        "url": URL_LENGTH,
        "link_minimum": MINUTE,
        "code_link_maximum": MONTH,
        "link_maximum": FIVE_YEARS,
        "endpoints": settings.MAX_ENDPOINTS,
        "webhook_timeout": int(settings.WEBHOOK_TIMEOUT),
        "webhook_delays": http_call.RETRY_DELAYS,
        "webhook_retry_after": int(http_call.MAX_RETRY_AFTER),
        "rotation": int(endpoints.OLD_SECRET_LIFETIME.total_seconds()),
    }
