"""Accounts that are one lasting connection: each lives in a process of its own.

Everybody may read their capabilities; only that process may call them.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from channels.providers.base import Provider, Receipt, Reply


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a long message, which the vendor took under an id of its own.

    Receipts then speak of parts, and the message is delivered when all of them are.
    """

    ref: str  # our attempt id
    number: int  # from 1
    total: int
    provider_id: str


Report = tuple[Receipt | Part | Reply, bytes]  # with the vendor's own words
StoreReports = Callable[[Sequence[Report]], None]  # stores them all, or raises and stores none


class HostedProvider(Provider):
    window: int  # messages that may be under way at once

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Whether a message handed over now would go out; otherwise it is better left queued."""

    @abstractmethod
    def start(self, *, keep: StoreReports, opened: Callable[[], None]) -> None:
        """Connect, and stay connected; `opened` is called whenever `is_open` has become true."""

    @abstractmethod
    def stop(self) -> None:
        """Once nobody calls `send` any more: hand in what was received, and disconnect."""

    @abstractmethod
    def facts(self) -> Mapping[str, int]:
        """How it is doing, for the heartbeat."""
