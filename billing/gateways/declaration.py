"""What a way to pay declares in its folder: pure data, which the settings read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from catalogue.options import Option
from catalogue.texts import StrOrPromise


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredGateway:
    title: StrOrPromise
    note: StrOrPromise  # for the payer, below the title
    class_name: str  # of the class in the folder's `gateway.py`
    options: tuple[Option, ...] = ()
    url: str = ""  # of the provider's API
    hook: str = ""  # the path of its notices under /hooks/
    is_demo: bool = False  # takes no money: production does not start with it
    check: Callable[[Mapping[str, Any]], str] = lambda _options: ""  # what is wrong, or ""
    name: str = ""  # its folder's

    @property
    def prefix(self) -> str:
        """Prefix of the names of its variables."""
        return self.name.upper()
