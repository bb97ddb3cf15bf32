"""Our accounts with vendors, from the environment: one without a token is not configured."""

from typing import Any

from config.env import env

WHATSAPP = {
    "api_url": env.str("WHATSAPP_API_URL", "https://graph.facebook.com"),
    "version": env.str("WHATSAPP_API_VERSION", "v25.0"),
    "token": env.str("WHATSAPP_TOKEN", ""),
    "phone_number_id": env.str("WHATSAPP_PHONE_NUMBER_ID", ""),
    "app_secret": env.str("WHATSAPP_APP_SECRET", ""),
    "verify_token": env.str("WHATSAPP_VERIFY_TOKEN", ""),
    "code_template": env.str("WHATSAPP_CODE_TEMPLATE", "verification_code"),
    "link_template": env.str("WHATSAPP_LINK_TEMPLATE", "short_link"),
    "code_link_template": env.str("WHATSAPP_CODE_LINK_TEMPLATE", ""),
}
TELEGRAM_GATEWAY = {
    "api_url": env.str("TELEGRAM_GATEWAY_API_URL", "https://gatewayapi.telegram.org"),
    "token": env.str("TELEGRAM_GATEWAY_TOKEN", ""),
}
TELEGRAM_BOT = {
    "api_url": env.str("TELEGRAM_BOT_API_URL", "https://api.telegram.org"),
    "token": env.str("TELEGRAM_BOT_TOKEN", ""),
    "secret_token": env.str("TELEGRAM_BOT_SECRET", ""),
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
