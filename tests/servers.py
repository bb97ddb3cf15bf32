"""pytest plugin: real stores and a test account for every run, before the settings are read."""

import os
import socket
from collections.abc import Generator
from contextlib import ExitStack

import pytest

from config.development import accounts, new_secrets
from config.embedded import Servers, temporary
from config.processes import StartError

_SERVERS = pytest.StashKey[Servers]()
# Set in a developer's shell, these would let tests depend on it.
_FOREIGN = ("PUBLIC_URL", "SHORT_URL", "DEBUG", "SENTRY_DSN", "EMAIL_BACKEND")


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, None, None]:
    stack = ExitStack()
    early_config.add_cleanup(stack.close)
    try:
        servers = stack.enter_context(temporary())
    except (StartError, OSError) as error:
        raise pytest.UsageError(str(error)) from None
    early_config.stash[_SERVERS] = servers
    for name in _FOREIGN:
        os.environ.pop(name, None)
    os.environ.update(_environment() | servers.environ() | {"VAR_DIR": str(servers.directory)})
    return (yield)


@pytest.fixture(scope="session")
def servers(pytestconfig: pytest.Config) -> Servers:
    """The stores of this run, to be killed and restarted; only those that we started."""
    return pytestconfig.stash[_SERVERS]


def _environment() -> dict[str, str]:
    made = new_secrets()
    port = _free_port()
    simulator_url = f"http://127.0.0.1:{port}"
    return {
        "ENVIRONMENT": "test",
        "SECRET_KEY": made["SECRET_KEY"],
        "OTP_KEYS": made["OTP_KEYS"],
        "SIMULATOR_PORT": str(port),
        "SIMULATOR_URL": simulator_url,
        "TELEGRAM_BOT_ASSUME_CONTACT": "1",
        **accounts(simulator_url, made, {}),
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
