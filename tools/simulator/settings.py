"""The simulator's settings, from the same environment as the service."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit


class SettingsError(Exception):
    """A variable holds what cannot be used; the text names it."""


@dataclass(frozen=True, slots=True)
class Settings:
    port: int
    log_path: Path
    own_url: str  # where a browser finds the pages
    public_url: str
    short_url: str
    receipt_delay: float
    whatsapp_languages: Mapping[str, str]
    smpp_port: int | None  # None: no message centre
    smpp_window: int
    smpp_system_id: str
    smpp_password: str
    env: Mapping[str, str]

    def variable(self, name: str, default: str = "") -> str:
        """A vendor's own variable; an empty one counts as not set."""
        return self.env.get(name) or default


def read_settings(env: Mapping[str, str]) -> Settings:
    public_url = env.get("PUBLIC_URL", "http://127.0.0.1:8000").rstrip("/")
    centre = urlsplit(env.get("SMPP_URL", ""))
    port = _whole(env, "SIMULATOR_PORT", 8001, 0, 65535)
    log = env.get("SIMULATOR_LOG") or Path(env.get("VAR_DIR") or "var", "simulator.sqlite3")
    smpp_port = _whole(env, "SIMULATOR_SMPP_PORT", 0, 0, 65535)
    # Our locale → the code of the template's language, as the service has it.
    pairs = (pair.partition(":") for pair in (env.get("WHATSAPP_LANGUAGES") or "ru:ru").split(","))
    languages = {locale.strip(): code.strip() for locale, _, code in pairs}
    return Settings(
        port=port,
        log_path=Path(log),
        own_url=(env.get("SIMULATOR_URL") or f"http://127.0.0.1:{port}").rstrip("/"),
        public_url=public_url,
        short_url=env.get("SHORT_URL", public_url).rstrip("/"),
        receipt_delay=_whole(env, "SIMULATOR_RECEIPT_DELAY_MS", 20, 0, 600_000) / 1000,
        whatsapp_languages={"ru": "ru", "en": "en_US"} | languages,
        smpp_port=smpp_port if env.get("SIMULATOR_SMPP_PORT") else None,
        smpp_window=int(dict(parse_qsl(centre.query)).get("window", "10")),
        smpp_system_id=centre.username or "",
        smpp_password=centre.password or "",
        env=env,
    )


def _whole(env: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    raw = env.get(name) or str(default)
    if not raw.isascii() or not raw.isdigit() or not low <= int(raw) <= high:
        raise SettingsError(f"{name} must be a whole number from {low} to {high}, not {raw!r}")
    return int(raw)
