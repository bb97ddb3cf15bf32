"""The environment of every process under `make run` and in tests.

Secrets are generated once; providers without credentials from the user use the carrier simulator.
"""

import json
import os
import secrets
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from billing.gateways.declarations import GATEWAYS
from catalogue.account_options import Option, variable
from channels.providers.vendors import VENDORS
from config.local.checkout import CHECKOUT
from config.local.processes import StartError

_SECRETS: dict[str, Callable[[], str]] = {
    "SECRET_KEY": lambda: secrets.token_urlsafe(48),
    "OTP_KEYS": lambda: f"1:{secrets.token_hex(32)}",
    "WEBHOOK_KEYS": lambda: f"1:{secrets.token_hex(32)}",
    "MFA_KEYS": lambda: f"1:{secrets.token_hex(32)}",
    "SMPP_PASSWORD": lambda: secrets.token_hex(4),
}
_RUNNING_FILE = "environment.json"
_SIMULATED = {name: vendor for name, vendor in VENDORS.items() if vendor.simulated}
# Only one is used at a time.
_SMS = [name for name, vendor in _SIMULATED.items() if vendor.simulated == "sms"]
# Offered unless the user has configured any.
_PAID_BY = [gateway for gateway in GATEWAYS.values() if gateway.url]
_DECLARED = [
    *((vendor.prefix, vendor.options) for vendor in _SIMULATED.values()),
    *((gateway.prefix, gateway.options) for gateway in _PAID_BY),
]


def is_set(environ: Mapping[str, str], name: str) -> bool:
    """Whether the user set the variable, directly or as the path of a file."""
    return bool(environ.get(name) or environ.get(f"{name}_FILE"))


def new_secrets() -> dict[str, str]:
    """A new value of each secret, by the name of its variable."""
    makers: dict[str, Callable[[], str]] = _SECRETS | {
        variable(prefix, option): option.simulated
        for prefix, options in _DECLARED
        for option in options
        if callable(option.simulated)
    }
    return {name: make() for name, make in makers.items()}


def stored_secrets(path: Path) -> dict[str, str]:
    """The secrets in a file, generated at the first run; later runs add new ones."""
    stored = _read(path)
    fresh = new_secrets()
    if fresh.keys() - stored:
        stored = fresh | stored
        _write(path, stored)
    return stored


def accounts(
    simulator_url: str, secrets: Mapping[str, str], environ: Mapping[str, str]
) -> dict[str, str]:
    """Simulated accounts with every provider that has no credentials in `environ`."""
    not_simulated = {*_SMS} - {_chosen_sms(environ)}
    values: dict[str, str] = {}
    urls: dict[str, str] = {}
    for vendor in _SIMULATED.values():
        names = secrets.keys() & {vendor.variable(option.name) for option in vendor.options}
        if vendor.name in not_simulated or any(is_set(environ, name) for name in names):
            continue
        values |= _simulated_values(vendor.prefix, vendor.options, secrets)
        urls[vendor.name] = f"{simulator_url}/{vendor.hook}"
    return values | _addresses(environ, urls, [*urls])


def _simulated_values(
    prefix: str, options: Iterable[Option], secrets: Mapping[str, str]
) -> dict[str, str]:
    values = [(variable(prefix, item), item.simulated) for item in options if item.simulated]
    return {name: text if isinstance(text, str) else secrets[name] for name, text in values}


def _addresses(
    environ: Mapping[str, str], urls: Mapping[str, str], without_proxy: Iterable[str]
) -> dict[str, str]:
    """The variables with the vendors' URLs, in addition to those in `environ`.

    The simulator is on loopback, which no proxy reaches.
    """
    ours = {
        "VENDOR_URLS": [f"{name}={url}" for name, url in urls.items()],
        "PROXIES": [f"{name}=direct" for name in without_proxy],
    }
    return {
        variable: ",".join(filter(None, [environ.get(variable, ""), *items]))
        for variable, items in ours.items()
    }


def payment_accounts(
    simulator_url: str, secrets: Mapping[str, str], environ: Mapping[str, str]
) -> dict[str, str]:
    """Simulated payment accounts, or none if the user has configured any account.

    `environ` includes the result of `accounts`.
    """
    values: dict[str, str] = {}
    for gateway in _PAID_BY:
        values |= _simulated_values(gateway.prefix, gateway.options, secrets)
    if any(is_set(environ, name) for name in (*values, "PAYMENT_GATEWAYS")):
        return {}
    urls = {gateway.name: f"{simulator_url}/{gateway.hook}" for gateway in _PAID_BY}
    return (
        values | {"PAYMENT_GATEWAYS": ",".join(GATEWAYS)} | _addresses(environ, urls, ["payments"])
    )


def _chosen_sms(environ: Mapping[str, str]) -> str:
    sms = environ.get("SIMULATED_SMS") or _SMS[0]
    if sms not in _SMS:
        raise StartError(f"SIMULATED_SMS must be one of {', '.join(_SMS)}, not {sms!r}")
    return sms


def environment(
    environ: Mapping[str, str], *, var: Path, host: str, port: int, simulator_port: int
) -> dict[str, str]:
    """The environment of `make run`'s processes, except for the stores' addresses."""
    stored = stored_secrets(var / "secrets.json")
    set_by_user = {name: value for name, value in environ.items() if value}
    defaults = {
        "PUBLIC_URL": f"http://{reachable(host)}:{port}",
        "SIMULATOR_URL": f"http://127.0.0.1:{simulator_port}",
        "AUTO_APPROVE_COMPANIES": "1",
        "STATUS_MIN_COMPANIES": "1",  # only one demo company sends
        "MAX_BREAKER_PAUSE": "30",  # short, to try out faults
        "OPERATOR_MFA": "0",  # the demo login opens the admin without a second factor
        "SECRET_KEY": stored["SECRET_KEY"],
        "OTP_KEYS": stored["OTP_KEYS"],
        "WEBHOOK_KEYS": stored["WEBHOOK_KEYS"],
        "MFA_KEYS": stored["MFA_KEYS"],
    }
    ours = {
        "ENVIRONMENT": "development",
        "DEBUG": "0",
        "VAR_DIR": str(var),
        "PORT": str(port),
        "SIMULATOR_PORT": str(simulator_port),
        "PYTHONUNBUFFERED": "1",
    }
    variables = defaults | set_by_user | ours
    smpp = {} if is_set(set_by_user, "SMPP_URL") else simulated_smpp(variables, stored)
    variables |= accounts(variables["SIMULATOR_URL"], stored, set_by_user)
    return variables | payment_accounts(variables["SIMULATOR_URL"], stored, variables) | smpp


def simulated_smpp(environ: Mapping[str, str], secrets: Mapping[str, str]) -> dict[str, str]:
    """An account with the simulator's message centre, if its port is set."""
    port = environ.get("SIMULATOR_SMPP_PORT", "")
    if not port:
        return {}
    login = f"kvitok:{secrets['SMPP_PASSWORD']}"
    return {"SMPP_URL": f"smpp://{login}@127.0.0.1:{port}?source=Kvitok"}


def publish(values: Mapping[str, str], environ: Mapping[str, str], *, var: Path) -> None:
    """Stores values that `environ` lacks, so `manage.py` in another shell uses this service."""
    ours = {name: value for name, value in values.items() if environ.get(name) != value}
    _write(var / _RUNNING_FILE, ours)


def load_running() -> None:
    """Makes `manage.py` use the service that `make run` started, unless the shell names another."""
    if not any(is_set(os.environ, name) for name in ("DATABASE_URL", "SECRET_KEY")):
        var = Path(os.environ.get("VAR_DIR") or CHECKOUT / "var")
        os.environ.update(_read(var / _RUNNING_FILE))


def reachable(host: str) -> str:
    """The address for local clients of a server that listens on `host`."""
    return {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104


def _read(path: Path) -> dict[str, str]:
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except ValueError:
        stored = None
    if not isinstance(stored, dict):
        raise StartError(f"{path} is damaged: restore it, or remove it to start with new secrets")
    return stored


def _write(path: Path, values: Mapping[str, str]) -> None:
    # Renamed into place: a crash leaves either the old file or the new one.
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(values, file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    new.rename(path)
