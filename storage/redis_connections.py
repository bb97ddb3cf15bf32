"""Connections to Redis that close once their server is no longer a working master.

After a failover the old master goes on answering as a replica: it refuses writes, or says that it
has no master. A connection that gets such a refusal is closed and reports a ConnectionError, so
that its user reconnects, to the new master if the address has moved.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import redis
from redis.backoff import NoBackoff
from redis.connection import (
    AbstractConnection,
    Connection,
    SSLConnection,
    UnixDomainSocketConnection,
)
from redis.exceptions import (
    ClusterDownError,
    NoPermissionError,
    ReadOnlyError,
    ResponseError,
)
from redis.retry import Retry
from redis.sentinel import Sentinel
from redis.utils import str_if_bytes

from storage import redis_address
from storage.redis_address import RedisAddress

_REFUSALS = (ReadOnlyError, ClusterDownError, NoPermissionError)  # MASTERDOWN is a ClusterDownError
# Error codes without a class in redis-py; Redis 6 puts a script's in the middle of the text.
_REFUSAL_WORDS = re.compile(r"(^|-)(READONLY|MASTERDOWN|NOREPLICAS|UNBLOCKED) ")


Server = tuple[str, int]


class ServerRefusalError(redis.ConnectionError):
    """The server refuses because of its state or role, not because of the command."""


def _do_nothing() -> None:
    pass


class MasterConnection(AbstractConnection):
    """A connection that closes once its server is no longer a working master.

    `on_refusal` is called after a refusal and when Sentinel names another master: other connections
    may lead to the same server.
    """

    def __init__(
        self,
        *,
        on_refusal: Callable[[], None] = _do_nothing,
        find_master: Callable[[], Server] | None = None,
        **options: Any,
    ) -> None:
        self._on_refusal = on_refusal
        self._find_master = find_master
        self._is_open = False
        self._master: Server | None = None
        super().__init__(**options)

    def _connect(self) -> Any:
        if self._find_master is not None:
            last, self._master = self._master, self._find_master()
            self.host, self.port = self._master
            if last not in (None, self._master):
                self._on_refusal()
        return super()._connect()  # type: ignore[no-untyped-call, safe-super]

    def on_connect_check_health(self, check_health: bool = True) -> None:
        self._is_open = False  # redis-py itself tolerates errors of some of its commands
        super().on_connect_check_health(check_health)
        self.send_command("ROLE", check_health=False)  # type: ignore[no-untyped-call]
        try:
            role = self.read_response()
        except ResponseError:  # ROLE is not permitted: a refused write will show it
            role = None
        if is_replica(role):
            self._refuse("a replica")
        self._is_open = True

    def read_response(self, *args: Any, **options: Any) -> Any:
        try:
            return super().read_response(*args, **options)
        except ResponseError as error:
            if not (self._is_open and _is_refusal(error)):
                raise
            self._refuse(str(error), error)

    def _refuse(self, reason: str, cause: Exception | None = None) -> NoReturn:
        self.disconnect()  # type: ignore[no-untyped-call]
        self._on_refusal()
        raise ServerRefusalError(reason) from cause


class TcpMasterConnection(MasterConnection, Connection):
    pass


class TlsMasterConnection(MasterConnection, SSLConnection):
    pass


class UnixMasterConnection(MasterConnection, UnixDomainSocketConnection):
    pass


_CLASSES: dict[str, Any] = {
    redis_address.TCP: TcpMasterConnection,
    redis_address.TLS: TlsMasterConnection,
    redis_address.UNIX: UnixMasterConnection,
}


def connection_class(address: RedisAddress) -> type[MasterConnection]:
    kind: type[MasterConnection] = _CLASSES[address.scheme]
    return kind


def connection_options(address: RedisAddress, connect_timeout: float) -> dict[str, Any]:
    """The options of redis-py's connection, and how it finds its master."""
    options = dict(address.options)
    if (sentinels := address.sentinels) is not None:
        sentinel = Sentinel(  # type: ignore[no-untyped-call]
            sentinels.addresses,
            sentinel_kwargs={
                "socket_timeout": connect_timeout,
                "socket_connect_timeout": connect_timeout,
                "retry": Retry(NoBackoff(), 0),
                "ssl": address.scheme == redis_address.TLS,
                **sentinels.options,
            },
        )
        options["find_master"] = partial(sentinel.discover_master, sentinels.service)
    return options


def pool(address: RedisAddress, *, connect_timeout: float, **options: Any) -> redis.ConnectionPool:
    return redis.ConnectionPool(
        connection_class=connection_class(address),
        socket_connect_timeout=connect_timeout,
        **options,
        **connection_options(address, connect_timeout),
    )


def is_replica(role: Any) -> bool:
    """Whether the reply to ROLE is a replica's."""
    return bool(role) and str_if_bytes(role[0]) == "slave"


def _is_refusal(error: ResponseError) -> bool:
    return isinstance(error, _REFUSALS) or _REFUSAL_WORDS.search(str(error)) is not None
