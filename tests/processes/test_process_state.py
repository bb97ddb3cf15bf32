"""Values that a process makes once, for all its threads."""

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from channels.vendor_accounts import registry
from processes.process_state import Once
from tests.api.races import at_once


def test_concurrent_first_calls_get_one_value() -> None:
    @Once
    def make(name: str) -> object:
        time.sleep(0.01)
        return object()

    made = at_once([lambda: make("a")] * 8)

    assert len(set(map(id, made))) == 1
    assert make("b") is not made[0]
    assert make("a") is made[0]


def test_value_is_made_again_after_an_error_and_after_a_clear() -> None:
    errors = [ValueError("first")]

    @Once
    def make() -> object:
        if errors:
            raise errors.pop()
        return object()

    with pytest.raises(ValueError, match="first"):
        make()
    first = make()
    make.cache_clear()

    assert make() is not first


@pytest.fixture
def eager_switches() -> Iterator[None]:
    """Threads take turns after a microsecond instead of five milliseconds."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("eager_switches")
def test_provider_accounts_are_built_once_for_all_threads() -> None:
    for _ in range(20):
        registry.clear_caches()

        built = at_once([registry.live_providers] * 16)

        assert all(accounts is built[0] for accounts in built)


FORK = """
import os
from processes.process_state import on_reset

remembered = ["value"]
on_reset(remembered.clear)
child = os.fork()
if child:
    _pid, status = os.waitpid(child, 0)
    print(len(remembered), os.waitstatus_to_exitcode(status))
else:
    os._exit(len(remembered))
"""


def test_forked_child_starts_with_empty_caches() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORK], capture_output=True, check=True, text=True, timeout=30
    )

    assert done.stdout == "1 0\n"
