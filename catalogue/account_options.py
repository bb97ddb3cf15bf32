"""Options of accounts with vendors and payment providers: how each is declared and read."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from catalogue.texts import StrOrPromise


@dataclass(frozen=True, slots=True)
class Option:
    """An option of an account: an argument of its class, and an environment variable. Operators may
    also enter an option with a label in the admin.
    """

    name: str
    label: StrOrPromise = ""
    default: str = ""
    variable: str = ""  # suffix of the variable's name, if it differs from the option's name
    read: Callable[[str], Any] = str  # raises ValueError
    is_secret: bool = False  # never shown again
    is_ours: bool = False  # we choose it and enter it at the vendor
    is_required: bool = True
    simulated: str | Callable[[], str] = ""  # the value for an account at the simulator

    def value(self, text: str, variable: str) -> Any:
        try:
            return self.read(text or self.default)
        except ValueError as error:
            raise ImproperlyConfigured(f"{variable} {error}") from None


def variable(prefix: str, option: Option) -> str:
    return f"{prefix}_{option.variable or option.name.upper()}"


def boolean(text: str) -> bool:
    if text.lower() not in {"", "0", "1", "true", "false", "yes", "no", "on", "off"}:
        raise ValueError("must be true or false")
    return text.lower() in {"1", "true", "yes", "on"}


def comma_separated(text: str) -> tuple[str, ...]:
    """Splits `13,98` at its commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def name_value_pairs(text: str) -> dict[str, str]:
    """Parses `0x401=unreachable,0x402=account`."""
    split = (pair.partition("=") for pair in comma_separated(text))
    return {name.strip(): value.strip() for name, _sign, value in split}


def one_of(*choices: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}")
        return text

    return read
