"""A cache by a text that a stranger chooses."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")

LONGEST = 500  # characters of a text that is kept


def remembered(most: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """`lru_cache` by texts that are short: a thousand headers of 30 KB would stay in memory."""

    def decorate(make: Callable[P, T]) -> Callable[P, T]:
        cached = cast("Callable[P, T]", lru_cache(maxsize=most)(make))

        @wraps(make)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            (text, *_others) = args
            if len(str(text)) > LONGEST:
                return make(*args, **kwargs)
            return cached(*args, **kwargs)

        return call

    return decorate
