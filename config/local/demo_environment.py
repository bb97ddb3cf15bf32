"""The environment of every process under `make run` and in tests.

Secrets are generated once; providers without credentials from the user use the carrier simulator.
"""

import json
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

from config.local.checkout import CHECKOUT
from config.local.processes import StartError

_SECRETS: dict[str, Callable[[], str]] = {
    "SECRET_KEY": lambda: secrets.token_urlsafe(48),
    "OTP_KEYS": lambda: f"1:{secrets.token_hex(32)}",
    "WEBHOOK_KEYS": lambda: f"1:{secrets.token_hex(32)}",
    "MFA_KEYS": lambda: f"1:{secrets.token_hex(32)}",
    "WHATSAPP_TOKEN": lambda: f"EAA{secrets.token_hex(32)}",
    "WHATSAPP_PHONE_NUMBER_ID": lambda: _digits(15),
    "WHATSAPP_BUSINESS_ACCOUNT_ID": lambda: _digits(15),
    "WHATSAPP_APP_SECRET": lambda: secrets.token_hex(16),
    "WHATSAPP_VERIFY_TOKEN": lambda: secrets.token_urlsafe(16),
    "TELEGRAM_GATEWAY_TOKEN": lambda: secrets.token_urlsafe(24),
    "TELEGRAM_BOT_TOKEN": lambda: f"{_digits(10)}:{secrets.token_hex(17)}x",
    "TELEGRAM_BOT_SECRET": lambda: secrets.token_urlsafe(24),
    "TWILIO_ACCOUNT_SID": lambda: f"AC{secrets.token_hex(16)}",
    "TWILIO_AUTH_TOKEN": lambda: secrets.token_hex(16),
    "SMSC_LOGIN": lambda: "demo",
    "SMSC_PASSWORD": lambda: secrets.token_hex(16),
    "SMSC_CALLBACK_SECRET": lambda: secrets.token_hex(16),
    "STRIPE_SECRET_KEY": lambda: f"sk_test_{secrets.token_hex(16)}",
    "STRIPE_WEBHOOK_SECRET": lambda: f"whsec_{secrets.token_hex(16)}",
    "YOOKASSA_SHOP_ID": lambda: _digits(6),
    "YOOKASSA_SECRET_KEY": lambda: f"test_{secrets.token_urlsafe(24)}",
    "TBANK_TOKEN": lambda: f"t.{secrets.token_urlsafe(32)}",
    "TBANK_ACCOUNT": lambda: f"40702810{_digits(12)}",
    "TBANK_WEBHOOK_SECRET": lambda: secrets.token_urlsafe(24),
    "SMPP_PASSWORD": lambda: secrets.token_hex(4),
}
_RUNNING_FILE = "environment.json"
_FORMER = {"CALLBACK_KEYS": "WEBHOOK_KEYS"}  # names in files that earlier versions wrote
# The variables of a simulated account, in addition to its secrets.
_ACCOUNTS: dict[str, dict[str, str]] = {
    "WHATSAPP": {
        "WHATSAPP_API_URL": "{simulator}/whatsapp",
        "WHATSAPP_CODE_TEMPLATE": "verification_code",
        "WHATSAPP_LINK_TEMPLATE": "short_link",
        "WHATSAPP_CODE_LINK_TEMPLATE": "code_with_link",
    },
    "TELEGRAM_GATEWAY": {"TELEGRAM_GATEWAY_API_URL": "{simulator}/telegram-gateway"},
    "TELEGRAM_BOT": {
        "TELEGRAM_BOT_API_URL": "{simulator}/telegram-bot",
        "TELEGRAM_BOT_USERNAME": "simulator_bot",
    },
    "TWILIO": {"TWILIO_API_URL": "{simulator}/twilio", "TWILIO_FROM": "+15005550006"},
    "SMSC": {"SMSC_API_URL": "{simulator}/smsc"},
}
# The same of payment providers; they are offered unless the user names others.
_PAYMENTS: dict[str, dict[str, str]] = {
    "STRIPE": {"STRIPE_URL": "{simulator}/stripe"},
    "YOOKASSA": {
        "YOOKASSA_URL": "{simulator}/yookassa",
        "YOOKASSA_NETWORKS": "127.0.0.0/8,::1/128",
    },
    "TBANK": {"TBANK_URL": "{simulator}/tbank", "TBANK_STATEMENT": "1"},
}
_SMS = {"twilio": "TWILIO", "smsc": "SMSC"}  # the simulator plays one of them


def is_set(environ: Mapping[str, str], name: str) -> bool:
    """Whether the user set the variable, directly or as the path of a file."""
    return bool(environ.get(name) or environ.get(f"{name}_FILE"))


def new_secrets() -> dict[str, str]:
    return {name: make() for name, make in _SECRETS.items()}


def stored_secrets(path: Path) -> dict[str, str]:
    """The secrets in a file, generated at the first run; later runs add new ones."""
    known = _read(path)
    if missing := _SECRETS.keys() - known:
        known |= {name: _SECRETS[name]() for name in missing}
        _write(path, known)
    return known


def accounts(
    simulator_url: str, secrets: Mapping[str, str], environ: Mapping[str, str]
) -> dict[str, str]:
    """Simulated accounts with every provider that has no credentials in `environ`."""
    found: dict[str, str] = {}
    unplayed = set(_SMS.values()) - {_SMS[_chosen_sms(environ)]}
    for provider, fixed in _ACCOUNTS.items():
        if provider in unplayed:
            continue
        own = {name: value for name, value in secrets.items() if name.startswith(f"{provider}_")}
        if not any(is_set(environ, name) for name in own):
            found |= {name: text.format(simulator=simulator_url) for name, text in fixed.items()}
            found |= own | {f"{provider}_PROXY": "direct"}  # the simulator is on loopback
    return found


def payment_accounts(
    simulator_url: str, secrets: Mapping[str, str], environ: Mapping[str, str]
) -> dict[str, str]:
    """All of the simulator, or, where the user has set any account, none."""
    names = [name for name in secrets if name.startswith(tuple(f"{one}_" for one in _PAYMENTS))]
    if any(is_set(environ, name) for name in (*names, "PAYMENT_GATEWAYS")):
        return {}
    found = {
        "PAYMENT_GATEWAYS": ",".join(["invoice", "sandbox", *map(str.lower, _PAYMENTS)]),
        "PAYMENT_PROXY": "direct",  # the simulator is on loopback
    }
    for fixed in _PAYMENTS.values():
        found |= {name: text.format(simulator=simulator_url) for name, text in fixed.items()}
    return found | {name: secrets[name] for name in names}


def _chosen_sms(environ: Mapping[str, str]) -> str:
    chosen = environ.get("SIMULATED_SMS") or "twilio"
    if chosen not in _SMS:
        raise StartError(f"SIMULATED_SMS must be one of {', '.join(_SMS)}, not {chosen!r}")
    return chosen


def environment(
    environ: Mapping[str, str], *, var: Path, host: str, port: int, simulator_port: int
) -> dict[str, str]:
    """The environment of `make run`'s processes, except for the stores' addresses."""
    known = stored_secrets(var / "secrets.json")
    set_by_user = {name: value for name, value in environ.items() if value}
    defaults = {
        "PUBLIC_URL": f"http://{reachable(host)}:{port}",
        "SIMULATOR_URL": f"http://127.0.0.1:{simulator_port}",
        "TELEGRAM_BOT_ASSUME_CONTACT": "1",
        "AUTO_APPROVE_COMPANIES": "1",
        "STATUS_MIN_COMPANIES": "1",  # the demo has one that sends
        "MAX_BREAKER_PAUSE": "30",  # short, to try out faults
        "OPERATOR_MFA": "0",  # the demo login opens the admin without a second factor
        "SECRET_KEY": known["SECRET_KEY"],
        "OTP_KEYS": known["OTP_KEYS"],
        "WEBHOOK_KEYS": known["WEBHOOK_KEYS"],
        "MFA_KEYS": known["MFA_KEYS"],
    }
    ours = {
        "ENVIRONMENT": "development",
        "DEBUG": "0",
        "VAR_DIR": str(var),
        "PORT": str(port),
        "SIMULATOR_PORT": str(simulator_port),
        "PYTHONUNBUFFERED": "1",
    }
    chosen = defaults | set_by_user | ours
    smpp = {} if is_set(set_by_user, "SMPP_HOST") else simulated_smpp(chosen, known)
    simulated = accounts(chosen["SIMULATOR_URL"], known, set_by_user)
    payments = payment_accounts(chosen["SIMULATOR_URL"], known, set_by_user)
    return chosen | simulated | payments | smpp


def simulated_smpp(environ: Mapping[str, str], secrets: Mapping[str, str]) -> dict[str, str]:
    """An account with the simulator's message centre, if its port is set."""
    port = environ.get("SIMULATOR_SMPP_PORT", "")
    if not port:
        return {}
    return {
        "SMPP_HOST": "127.0.0.1",
        "SMPP_PORT": port,
        "SMPP_TLS": "0",
        "SMPP_SYSTEM_ID": "kvitok",
        "SMPP_PASSWORD": secrets["SMPP_PASSWORD"],
        "SMPP_SOURCE": "Kvitok",
    }


def publish(made: Mapping[str, str], environ: Mapping[str, str], *, var: Path) -> None:
    """Store what `environ` lacks, so `manage.py` in another terminal uses this service."""
    ours = {name: value for name, value in made.items() if environ.get(name) != value}
    _write(var / _RUNNING_FILE, ours)


def load_running() -> None:
    """For `manage.py`: use the service that `make run` started, unless the shell names another."""
    if not any(is_set(os.environ, name) for name in ("DATABASE_URL", "SECRET_KEY")):
        var = Path(os.environ.get("VAR_DIR") or CHECKOUT / "var")
        os.environ.update(_read(var / _RUNNING_FILE))


def reachable(host: str) -> str:
    """The address for local clients of a server that listens on `host`."""
    return {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104


def _digits(count: int) -> str:
    return str(secrets.randbelow(9 * 10 ** (count - 1)) + 10 ** (count - 1))


def _read(path: Path) -> dict[str, str]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise StartError(f"{path} is damaged: restore it, or remove it to start with new secrets")
    adopted = {new: found[old] for old, new in _FORMER.items() if old in found}
    return adopted | found


def _write(path: Path, known: Mapping[str, str]) -> None:
    # Renamed into place: a crash leaves either the old file or the new one.
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(known, file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    new.rename(path)
