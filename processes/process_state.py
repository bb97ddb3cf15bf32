"""Per-process state, created once, and reset in a forked child and in each test.

A child inherits locks in any state and no threads, and must not use its parent's leases.
"""

import os
import threading
from collections.abc import Callable, Hashable
from typing import Generic, ParamSpec, TypeVar

F = TypeVar("F", bound=Callable[[], object])
_resets: list[Callable[[], object]] = []


def on_reset(forget: F) -> F:
    """Registers `forget`, which restores the state of a fresh process. Also a decorator."""
    _resets.append(forget)
    return forget


def reset() -> None:
    for forget in _resets:
        forget()


os.register_at_fork(after_in_child=reset)


P = ParamSpec("P")
T = TypeVar("T")


class Once(Generic[P, T]):
    """A decorator like functools.cache, but concurrent first calls run the function only once.

    Takes positional arguments. A call that raised runs again.
    """

    def __init__(self, make: Callable[P, T]) -> None:
        self._make = make
        self._results: dict[tuple[Hashable, ...], T] = {}
        self._unlock()
        on_reset(self._unlock)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return self._results[args]
        except KeyError:
            return self._make_one(*args, **kwargs)

    def cache_clear(self) -> None:
        self._results.clear()

    def _unlock(self) -> None:
        """Replaces the lock, which a forked child inherits in any state."""
        self._making = threading.RLock()

    def _make_one(self, *args: P.args, **kwargs: P.kwargs) -> T:
        with self._making:
            if args not in self._results:
                self._results[args] = self._make(*args, **kwargs)
            return self._results[args]
