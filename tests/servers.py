"""pytest plugin: real stores and a test account for every run, before the settings are read.

Under pytest-xdist each worker has its own stores, because tests empty Redis and kill servers; the
controller has none.
"""

import gc
import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

from config.local.demo_environment import accounts, is_set, new_secrets
from config.local.embedded import Servers, temporary
from config.local.processes import StartError
from tests.migrated_cluster import migrated_cluster
from tests.ports import free_port
from tests.rerun_failed import EXIT_STATUS

_SERVERS = pytest.StashKey[Servers]()
# Set in a developer's shell, these would let tests depend on it.
_NOWHERE = {"DATABASE_URL": "postgresql:///none", "REDIS_URL": "redis://127.0.0.1:1"}
# Processes, a browser, many combinations: these begin, so that no worker ends with only them.
SLOW_TESTS = (
    "tests/browser/",
    "tests/stack/",
    "tests/upgrade/",
    "tests/config/test_settings.py",
    "tests/accounts/sign_in/test_throttle.py",
    "tests/webhooks/",
    "tests/api_docs/pages/",
    "tests/cabinet/test_access.py",
    "tests/odd_values/",
    "tests/channels/deliver/test_hosting.py",
    "tests/channels/test_reconciliation.py",
    "tests/operator_admin/",
)
# `make test-long`: together they take longer than all others. Losses of a part under load, most
# pages by a browser, plans of large tables, refusals at start, our tools. What they find, others
# mostly find on a smaller scale; run it before a release, and after a change of what it covers.
LONG_TESTS = (
    "tests/accounts/test_migrate.py",
    "tests/browser/",
    "tests/channels/deliver/test_fault_matrix.py",
    "tests/channels/deliver/test_run_smpp.py",
    "tests/config/environment/test_production_checks.py",
    "tests/storage/test_redis_address.py",
    "tests/config/environment/test_vendor_settings.py",
    "tests/config/local/",
    "tests/processes/monitoring/test_metrics.py",
    "tests/storage/test_direct_session.py",
    "tests/storage/test_sentinel.py",
    "tests/catalogue/test_channels.py::test_fourth_channel",
    "tests/config/test_failover.py",
    "tests/config/test_health.py::test_not_ready_while_the_disk",
    "tests/storage/test_primary_connection.py::test_server_is_used_seconds_after_a_long_outage",
    "tests/config/test_settings.py::test_invalid_settings",
    "tests/config/test_settings.py::test_empty_variable",
    "tests/deploy/test_environment_file.py",
    "tests/deploy/test_helm.py",
    "tests/deploy/test_sbom.py",
    "tests/golden_sql/test_admin_lists.py::test_list_of_seals",
    "tests/golden_sql/test_large_company.py",
    "tests/golden_sql/test_list_plans.py::test_every_batch",
    "tests/odd_values/test_admin.py::test_operator_pages",
    "tests/odd_values/test_api.py::test_calls_handle_odd",
    "tests/odd_values/test_cabinet.py::test_pages_handle_odd",
    "tests/odd_values/test_public.py::test_hooks_handle_odd_values[every]",
    "tests/odd_values/test_public.py::test_visitor_pages_handle",
    "tests/operator_admin/archive/",
    "tests/operator_admin/backup/",
    "tests/operator_admin/test_doctor.py::test_command",
    "tests/operator_admin/test_doctor.py::test_production",
    "tests/operator_admin/test_metrics.py",
    "tests/operator_admin/test_site.py::test_password_session",
    "tests/operator_admin/test_site.py::test_session_without_factor",
    "tests/otp/test_quarter.py",
    "tests/stack/test_accounts.py",
    "tests/stack/test_clicks.py",
    "tests/stack/test_clients.py",
    "tests/stack/test_doctor.py",
    "tests/stack/test_first_day.py",
    "tests/stack/test_https.py",
    "tests/stack/test_load.py",
    "tests/stack/test_outages.py",
    "tests/stack/test_payments.py",
    "tests/stack/test_redis_refusals.py",
    "tests/stack/test_schema.py",
    "tests/stack/test_secrets.py",
    "tests/stack/test_sentinel.py",
    "tests/stack/test_slow_bodies.py",
    "tests/stack/test_snippets.py",
    "tests/test_layout.py::test_each_contract",
    "tests/tools/bench/",
    "tests/tools/demo/test_history_of_company.py::test_interrupted",
    "tests/tools/demo/test_history_of_company.py::test_larger",
    "tests/tools/demo/test_history_of_company.py::test_real_companies",
    "tests/tools/examples/",
    "tests/tools/growth/",
    "tests/tools/replay/test_replay.py::test_run_is_determined",
    "tests/tools/replay/test_sensitivity.py::test_command",
    "tests/tools/simulator/",
    "tests/tools/test_command_line.py",
    "tests/upgrade/",
)
# What people do most, by a browser in every run.
QUICK_TESTS = (
    "tests/browser/test_account.py::test_forgotten_password",
    "tests/browser/test_buttons.py",
    "tests/browser/test_cabinet.py::test_code_appears",
    "tests/browser/test_cabinet.py::test_colleague",
    "tests/browser/test_cabinet.py::test_double_click",
    "tests/browser/test_cabinet.py::test_key_is_replaced",
    "tests/browser/test_cabinet.py::test_message_becomes_delivered",
    "tests/browser/test_cabinet.py::test_sign_up",
    "tests/browser/test_money.py::test_sandbox_payment_reaches",
    "tests/browser/test_operator_admin.py::test_company_is_approved_and_given",
    "tests/browser/test_operator_admin.py::test_operator_without",
    "tests/browser/test_proof_of_work.py",
    "tests/browser/test_search.py::test_exact_id",
    "tests/browser/test_search.py::test_slash",
    "tests/browser/test_sending.py::test_first_code",
    "tests/browser/test_settings.py::test_countries",
    "tests/browser/test_theme.py::test_theme_follows",
    "tests/browser/test_visiting.py",
)
_FOREIGN = ("PUBLIC_URL", "SHORT_URL", "DEBUG", "SENTRY_DSN", "EMAIL_URL")


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, None, None]:
    for name in _FOREIGN:
        os.environ.pop(name, None)
    os.environ.update(environment())
    if _is_xdist_controller(early_config):
        if os.environ.get("REDIS_URL"):
            raise pytest.UsageError("workers would share your REDIS_URL: make test WORKERS=0")
        with _usage_errors():
            _cluster(os.environ)  # once, before the workers need it
        os.environ.update(_NOWHERE)
    else:
        _start_servers(early_config)
    return (yield)


def _is_xdist_controller(config: pytest.Config) -> bool:
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    return bool(getattr(config.known_args_namespace, "numprocesses", None)) and not is_worker


def _start_servers(config: pytest.Config) -> None:
    given = {name: value for name, value in os.environ.items() if value != _NOWHERE.get(name)}
    stack = ExitStack()
    config.add_cleanup(stack.close)
    with _usage_errors():
        servers = stack.enter_context(temporary(environ=given, cluster=_cluster(given)))
    config.stash[_SERVERS] = servers
    os.environ.update(servers.environ() | {"VAR_DIR": str(servers.directory)})


def _cluster(environ: Mapping[str, str]) -> Path | None:
    return None if is_set(environ, "DATABASE_URL") else migrated_cluster(_NOWHERE)


@contextmanager
def _usage_errors() -> Iterator[None]:
    try:
        yield
    except (StartError, OSError, CalledProcessError) as error:
        raise pytest.UsageError(str(error)) from None


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Says that this run came to its end, for tests.rerun_failed."""
    cache = getattr(session.config, "cache", None)  # none with -p no:cacheprovider
    if cache and "PYTEST_XDIST_WORKER" not in os.environ:
        cache.set(EXIT_STATUS, int(exitstatus))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave out of later garbage collections the 700,000 objects that stay until the end.

    One collection of them stops every thread for 0.4 s of a core, on a busy machine for more than
    three: in the middle of a transaction, whose locks others gave up waiting for.
    """
    gc.disable()  # a fifth of what collecting tests takes
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


class FileScheduling(LoadFileScheduling):
    """A worker takes a whole file, or all of tests/stack, whose processes start once."""

    def _split_scope(self, nodeid: str) -> str:
        return "tests/stack" if _is_stack_test(nodeid) else str(super()._split_scope(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FileScheduling:
    return FileScheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the slow and the long tests, and starts with those that take longest."""
    for item in items:
        if item.nodeid.startswith(LONG_TESTS) and not item.nodeid.startswith(QUICK_TESTS):
            item.add_marker(pytest.mark.long)
        elif item.nodeid.startswith(SLOW_TESTS):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    items.sort(key=lambda item: not item.nodeid.startswith("tests/upgrade/"))
    items.sort(key=lambda item: not _is_stack_test(item.nodeid))


def _is_stack_test(nodeid: str) -> bool:
    return nodeid.startswith("tests/stack/")


@pytest.fixture(scope="session")
def servers(pytestconfig: pytest.Config) -> Servers:
    """The stores of this run, to be killed and restarted; only those that we started."""
    return pytestconfig.stash[_SERVERS]


def environment() -> dict[str, str]:
    """For every run: settings, and secrets of its own."""
    made = new_secrets()
    port = free_port()
    simulator_url = f"http://127.0.0.1:{port}"
    return {
        "ENVIRONMENT": "test",
        "OPERATOR_MFA": "0",  # the tests of the second factor turn it on
        "REQUEST_LOG_DAYS": "0",  # its thread would write between the tests
        "LOG_LEVEL": "ERROR",  # threads that miss their Redis would talk between the tests
        # ms: eight transactions after one another may take seconds on a busy machine.
        "PGOPTIONS": "-c lock_timeout=60000 -c statement_timeout=60000",
        "SECRET_KEY": made["SECRET_KEY"],
        "OTP_KEYS": made["OTP_KEYS"],
        "WEBHOOK_KEYS": made["WEBHOOK_KEYS"],
        "SIMULATOR_PORT": str(port),
        "SIMULATOR_URL": simulator_url,
        **accounts(simulator_url, made, {}),
    }
