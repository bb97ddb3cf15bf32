"""Providers with one lasting connection: each account runs in a process of its own.

Any process may read its capabilities; only its own process may call it.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence

from channels.providers.base import Provider
from channels.providers.inbound import InboundEvents

# Stores all of them, or raises: then all come again, which is harmless.
StoreEvents = Callable[[Sequence[InboundEvents]], None]


class HostedProvider(Provider):
    window: int  # the maximum of unanswered messages

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Whether a message sent now would go out; otherwise it should stay queued."""

    @abstractmethod
    def start(self, *, store: StoreEvents, on_open: Callable[[], None]) -> None:
        """Connects and reconnects; calls `on_open` whenever `is_open` becomes true."""

    @abstractmethod
    def stop(self) -> None:
        """Stores what was received and disconnects; call it once no thread calls `send`."""

    @abstractmethod
    def facts(self) -> Mapping[str, int]:
        """Values for the heartbeat."""
