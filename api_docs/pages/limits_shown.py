"""The numbers the pages speak of, as they are set."""

from typing import Any

from django.conf import settings

from accounts.api import idempotency, pagination
from accounts.keys import api_keys
from accounts.people import companies
from accounts.webhooks import endpoints, http_call
from config.channels import BY_NAME, CHANNELS, USUAL_PATIENCE, join_titles
from links.addresses.target_urls import MAX_LENGTH as URL_LENGTH
from links.api.batch_views import BULK_BODY
from links.api.fields import FIVE_YEARS, MINUTE, MONTH, TEXT_LENGTH
from links.clicks import bot_detection
from links.make import bulk
from otp.models import CodeText
from otp.texts import autofill, own_texts, rendering
from otp.web.calls import PURPOSE


def numbers() -> dict[str, Any]:
    return {
        "channels": CHANNELS,
        "channel_titles": join_titles(),
        "prices": [(BY_NAME[name].title, price) for name, price in settings.PRICES.items()],
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
        "api_rate": settings.API_RATE,
        "test_quotas": settings.TEST_QUOTAS,
        "api_body": settings.MAX_API_BODY // 1024,
        "bulk_body": BULK_BODY // 1024,
        "send_wait": int(settings.SEND_WAIT),
        "patience_range": settings.PATIENCE_RANGE,
        "patience_code": USUAL_PATIENCE.code,
        "patience_link": USUAL_PATIENCE.link,
        "other_patience": [one for one in CHANNELS if one.patience != USUAL_PATIENCE],
        "hold_code": settings.HOLD_DEADLINE["code"],
        "hold_link": settings.HOLD_DEADLINE["link"],
        "click_retention": settings.RAW_RETENTION * 86_400,
        "time_zone": settings.TIME_ZONE,
        "bulk": bulk.MAX_LINKS,
        "scanner_window": int(bot_detection.SCANNER_WINDOW),
        "misses": settings.LINK_MISS_LIMIT,
        "phone_retention": settings.PHONE_RETENTION * 86_400,
        "page": pagination.PAGE,
        "largest_page": pagination.MAX_PAGE,
        "active_keys": companies.MAX_ACTIVE_KEYS,
        "revoke": int(api_keys.CACHE_SECONDS),
        "idempotency_key": idempotency.MAX_LENGTH,
        "purpose": PURPOSE.schema["maxLength"],
        "text": TEXT_LENGTH,
        "texts": own_texts.MAX_TEXTS,
        "text_body": CodeText.LONGEST,
        "brand": rendering.BRAND_UNITS,
        "android_bytes": autofill.ANDROID_MAX_BYTES,
        "url": URL_LENGTH,
        "link_least": MINUTE,
        "code_link_most": MONTH,
        "link_most": FIVE_YEARS,
        "endpoints": settings.MAX_ENDPOINTS,
        "webhook_timeout": int(settings.WEBHOOK_TIMEOUT),
        "webhook_delays": http_call.RETRY_DELAYS,
        "webhook_retry_after": int(http_call.MAX_RETRY_AFTER),
        "rotation": int(endpoints.OLD_SECRET_LIFETIME.total_seconds()),
    }
