"""`lru_cache` for functions of a text that comes from outside."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Concatenate, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")
ByText = Callable[Concatenate[str, P], T]

LONGEST = 500  # characters of a cached text


def text_cache(maxsize: int) -> Callable[[ByText[P, T]], ByText[P, T]]:
    """Caches short texts only: a thousand headers of 30 KB would stay in memory."""

    def decorate(make: ByText[P, T]) -> ByText[P, T]:
        cached = cast("ByText[P, T]", lru_cache(maxsize=maxsize)(make))

        @wraps(make)
        def call(text: str, /, *args: P.args, **kwargs: P.kwargs) -> T:
            if len(text) > LONGEST:
                return make(text, *args, **kwargs)
            return cached(text, *args, **kwargs)

        return call

    return decorate
