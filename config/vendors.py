"""Our accounts with vendors, from the environment: one without a token is not configured."""

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
