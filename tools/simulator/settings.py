"""The simulator's settings, from the same environment as the service."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit


class SettingsError(Exception):
    """A variable holds what cannot be used; the text names it."""


@dataclass(frozen=True, slots=True)
class PaymentSettings:
    """The accounts at payment providers."""

    stripe_secret_key: str = ""
    stripe_webhook_secret: str = ""
    yookassa_shop_id: str = ""
    yookassa_secret_key: str = ""
    tbank_token: str = ""
    tbank_account: str = ""
    tbank_webhook_secret: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    port: int
    log_path: Path
    public_url: str
    short_url: str
    host_names: frozenset[str]
    receipt_delay: float
    whatsapp_token: str
    whatsapp_phone_number_id: str
    whatsapp_business_account_id: str
    whatsapp_app_secret: str
    whatsapp_code_template: str
    whatsapp_link_template: str
    whatsapp_code_link_template: str
    whatsapp_languages: Mapping[str, str]
    gateway_token: str
    bot_token: str
    bot_secret: str
    bot_username: str
    twilio_account_sid: str
    twilio_auth_token: str
    twilio_from: str
    smsc_login: str
    smsc_password: str
    smsc_sender: str
    smsc_callback_secret: str
    smpp_port: int | None  # None: no message centre
    smpp_system_id: str
    smpp_password: str
    smpp_window: int
    payments: PaymentSettings
    own_url: str


def read_settings(env: Mapping[str, str]) -> Settings:
    public_url = env.get("PUBLIC_URL", "http://127.0.0.1:8000").rstrip("/")
    centre = urlsplit(env.get("SMPP_URL", ""))
    return Settings(
        port=_whole(env, "SIMULATOR_PORT", 8001, 0, 65535),
        log_path=Path(
            env.get("SIMULATOR_LOG") or Path(env.get("VAR_DIR") or "var", "simulator.sqlite3")
        ),
        public_url=public_url,
        short_url=env.get("SHORT_URL", public_url).rstrip("/"),
        host_names=_host_names(env),
        receipt_delay=_whole(env, "SIMULATOR_RECEIPT_DELAY_MS", 20, 0, 600_000) / 1000,
        whatsapp_token=env.get("WHATSAPP_TOKEN", ""),
        whatsapp_phone_number_id=env.get("WHATSAPP_PHONE_NUMBER_ID", ""),
        whatsapp_business_account_id=env.get("WHATSAPP_BUSINESS_ACCOUNT_ID", ""),
        whatsapp_app_secret=env.get("WHATSAPP_APP_SECRET", ""),
        whatsapp_code_template=env.get("WHATSAPP_CODE_TEMPLATE", "verification_code"),
        whatsapp_link_template=env.get("WHATSAPP_LINK_TEMPLATE", "short_link"),
        whatsapp_code_link_template=env.get("WHATSAPP_CODE_LINK_TEMPLATE", "code_with_link"),
        whatsapp_languages=_languages(env.get("WHATSAPP_LANGUAGES") or "ru:ru,en:en_US"),
        gateway_token=env.get("TELEGRAM_GATEWAY_TOKEN", ""),
        bot_token=env.get("TELEGRAM_BOT_TOKEN", ""),
        bot_secret=env.get("TELEGRAM_BOT_SECRET", ""),
        bot_username=env.get("TELEGRAM_BOT_USERNAME") or "simulator_bot",
        twilio_account_sid=env.get("TWILIO_ACCOUNT_SID", ""),
        twilio_auth_token=env.get("TWILIO_AUTH_TOKEN", ""),
        twilio_from=env.get("TWILIO_FROM", ""),
        smsc_login=env.get("SMSC_LOGIN", ""),
        smsc_password=env.get("SMSC_PASSWORD", ""),
        smsc_sender=env.get("SMSC_SENDER", ""),
        smsc_callback_secret=env.get("SMSC_CALLBACK_SECRET", ""),
        smpp_port=_smpp_port(env),
        smpp_system_id=centre.username or "",
        smpp_password=centre.password or "",
        smpp_window=int(dict(parse_qsl(centre.query)).get("window", "10")),
        payments=_payments(env),
        own_url=_own_url(env),
    )


def _smpp_port(env: Mapping[str, str]) -> int | None:
    if not env.get("SIMULATOR_SMPP_PORT"):
        return None
    return _whole(env, "SIMULATOR_SMPP_PORT", 0, 0, 65535)


def _languages(text: str) -> dict[str, str]:
    """Our locale → the code of the template's language, as the service has it."""
    pairs = (item.partition(":") for item in text.split(","))
    return {"ru": "ru", "en": "en_US"} | {locale.strip(): code.strip() for locale, _, code in pairs}


def _own_url(env: Mapping[str, str]) -> str:
    """Where a payer's browser finds the payment pages."""
    port = _whole(env, "SIMULATOR_PORT", 8001, 0, 65535)
    return (env.get("SIMULATOR_URL") or f"http://127.0.0.1:{port}").rstrip("/")


def _host_names(env: Mapping[str, str]) -> frozenset[str]:
    """Names by which the page may be called: a foreign one is a rebinding attack."""
    own = urlsplit(env.get("SIMULATOR_URL", "")).hostname
    return frozenset({"127.0.0.1", "localhost", "::1"} | ({own} if own else set()))


def _payments(env: Mapping[str, str]) -> PaymentSettings:
    names = PaymentSettings.__dataclass_fields__
    return PaymentSettings(**{name: env.get(name.upper(), "") for name in names})


def _whole(env: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    raw = env.get(name) or str(default)
    if not raw.isascii() or not raw.isdigit() or not low <= int(raw) <= high:
        raise SettingsError(f"{name} must be a whole number from {low} to {high}, not {raw!r}")
    return int(raw)
