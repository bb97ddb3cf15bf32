"""The demo's environment: its secrets, and providers that speak with the simulator."""

import stat
from pathlib import Path

import pytest

from config.local.demo_environment import environment, stored_secrets
from config.local.processes import StartError


def demo_environment(var: Path, **environ: str) -> dict[str, str]:
    return environment(environ, var=var, host="127.0.0.1", port=8000, simulator_port=8001)


def urls(found: dict[str, str]) -> dict[str, str]:
    return dict(pair.split("=") for pair in found["VENDOR_URLS"].split(","))


def test_secrets_are_made_once_and_for_our_eyes_only(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"

    first = stored_secrets(path)

    assert stored_secrets(path) == first
    assert len(first["SECRET_KEY"]) > 50
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("text", ["", "{", "[]"])
def test_damaged_secrets_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "secrets.json"
    path.write_text(text)

    with pytest.raises(StartError, match="is damaged"):
        stored_secrets(path)


def test_every_provider_speaks_with_the_simulator(tmp_path: Path) -> None:
    result = demo_environment(tmp_path)

    assert urls(result) == {
        "max_bot": "http://127.0.0.1:8001/max-bot",
        "telegram_bot": "http://127.0.0.1:8001/telegram-bot",
        "telegram_gateway": "http://127.0.0.1:8001/telegram-gateway",
        "twilio": "http://127.0.0.1:8001/twilio",
        "whatsapp_cloud": "http://127.0.0.1:8001/whatsapp",
        "stripe": "http://127.0.0.1:8001/stripe",
        "tbank": "http://127.0.0.1:8001/tbank",
        "yookassa": "http://127.0.0.1:8001/yookassa",
    }
    assert result["PROXIES"].count("=direct") == 6
    assert result["PUBLIC_URL"] == "http://127.0.0.1:8000"


def test_provider_with_user_credentials_is_unchanged(tmp_path: Path) -> None:
    result = demo_environment(tmp_path, TWILIO_AUTH_TOKEN="real", WHATSAPP_TOKEN="")

    assert result["TWILIO_AUTH_TOKEN"] == "real"
    assert "twilio" not in urls(result)
    assert result["WHATSAPP_TOKEN"].startswith("EAA")


def test_user_settings_hold_except_development_ones(tmp_path: Path) -> None:
    result = demo_environment(
        tmp_path, PUBLIC_URL="https://demo.example", ENVIRONMENT="test", DEBUG="*"
    )

    assert result["PUBLIC_URL"] == "https://demo.example"
    assert (result["ENVIRONMENT"], result["DEBUG"]) == ("development", "0")
