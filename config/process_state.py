"""What a process remembers, and how it forgets: a forked child starts anew, and so does each test.

The parent's locks are in any state there, its threads are gone, and what it leased stays its own.
"""

import os
from collections.abc import Callable
from typing import TypeVar

F = TypeVar("F", bound=Callable[[], object])
_resets: list[Callable[[], object]] = []


def on_reset(forget: F) -> F:
    """`forget` makes what it belongs to as if the process had just started. Also a decorator."""
    _resets.append(forget)
    return forget


def reset() -> None:
    for forget in _resets:
        forget()


os.register_at_fork(after_in_child=reset)
