"""Our accounts with vendors, from the environment: one without a token is not configured."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured

from config.env import env


def _languages(text: str) -> dict[str, str]:
    """`ru:ru,en:en_US`: our locale → Meta's code; a template needs each language of ours."""
    pairs = (item.partition(":") for item in text.split(","))
    found = {locale.strip(): code.strip() for locale, _, code in pairs}
    if set(found) != {"ru", "en"} or not all(found.values()):
        raise ImproperlyConfigured(
            "WHATSAPP_LANGUAGES must name a template language for ru and for en: ru:ru,en:en_US"
        )
    return found


def _one_of(words: tuple[str, ...], name: str) -> str:
    value: str = env.str(name, "") or words[0]
    if value not in words:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(words)}")
    return value


WHATSAPP: dict[str, Any] = {
    "api_url": env.str("WHATSAPP_API_URL", "https://graph.facebook.com"),
    "version": env.str("WHATSAPP_API_VERSION", "v25.0"),
    "token": env.str("WHATSAPP_TOKEN", ""),
    "phone_number_id": env.str("WHATSAPP_PHONE_NUMBER_ID", ""),
    "app_secret": env.str("WHATSAPP_APP_SECRET", ""),
    "verify_token": env.str("WHATSAPP_VERIFY_TOKEN", ""),
    "code_template": env.str("WHATSAPP_CODE_TEMPLATE", "verification_code"),
    "link_template": env.str("WHATSAPP_LINK_TEMPLATE", "short_link"),
    "code_link_template": env.str("WHATSAPP_CODE_LINK_TEMPLATE", ""),
    "languages": _languages(env.str("WHATSAPP_LANGUAGES", "") or "ru:ru,en:en_US"),
}
TELEGRAM_GATEWAY = {
    "api_url": env.str("TELEGRAM_GATEWAY_API_URL", "https://gatewayapi.telegram.org"),
    "token": env.str("TELEGRAM_GATEWAY_TOKEN", ""),
}
TELEGRAM_BOT: dict[str, Any] = {
    "api_url": env.str("TELEGRAM_BOT_API_URL", "https://api.telegram.org"),
    "token": env.str("TELEGRAM_BOT_TOKEN", ""),
    "secret_token": env.str("TELEGRAM_BOT_SECRET", ""),
    "username": env.str("TELEGRAM_BOT_USERNAME", "").removeprefix("@"),
    "delivered_on": _one_of(("accept", "click", "never"), "TELEGRAM_BOT_DELIVERED_ON"),
}
SMPP: dict[str, Any] = {
    "host": env.str("SMPP_HOST", ""),
    "port": env.int("SMPP_PORT", 2775),
    "tls": env.bool("SMPP_TLS", True),
    "system_id": env.str("SMPP_SYSTEM_ID", ""),
    "password": env.str("SMPP_PASSWORD", ""),
    "system_type": env.str("SMPP_SYSTEM_TYPE", ""),
    "source": env.str("SMPP_SOURCE", ""),
    "source_ton": env.int("SMPP_SOURCE_TON", -1),
    "source_npi": env.int("SMPP_SOURCE_NPI", -1),
    "dest_ton": env.int("SMPP_DEST_TON", 1),
    "dest_npi": env.int("SMPP_DEST_NPI", 1),
    "alphabet": env.str("SMPP_ALPHABET", "gsm"),
    "long": env.str("SMPP_LONG", "udh"),
    "message_ids": env.str("SMPP_MESSAGE_IDS", "same"),
    "statuses": env.dict("SMPP_STATUSES", {}),
    "window": env.int("SMPP_WINDOW", 10),
    "enquire": env.float("SMPP_ENQUIRE", 30.0),
}
TWILIO = {
    "api_url": env.str("TWILIO_API_URL", "https://api.twilio.com"),
    "account_sid": env.str("TWILIO_ACCOUNT_SID", ""),
    "auth_token": env.str("TWILIO_AUTH_TOKEN", ""),
    "sender": env.str("TWILIO_FROM", ""),
}
SMSC = {
    "api_url": env.str("SMSC_API_URL", "https://smsc.ru"),
    "login": env.str("SMSC_LOGIN", ""),
    "password": env.str("SMSC_PASSWORD", ""),
    "sender": env.str("SMSC_SENDER", ""),
    "callback_secret": env.str("SMSC_CALLBACK_SECRET", ""),
}
