"""Connections to Redis that are of use only while their server is a master and obeys.

After a failover the old master goes on answering as a replica: it refuses writes, or says that it
has no master. A connection that gets such a refusal is closed and reports a ConnectionError, so
that whoever uses it connects again, and to the new master if an address has moved.
"""

import re
from collections.abc import Callable
from typing import Any, NoReturn

import redis
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
from redis.utils import str_if_bytes

from config.environment import redis_address
from config.environment.redis_address import RedisAddress

_REFUSALS = (ReadOnlyError, ClusterDownError, NoPermissionError)  # MASTERDOWN is a ClusterDownError
# Words that the library has no type for; a script of Redis 6 has them inside its error.
_REFUSAL_WORDS = re.compile(r"(^|-)(READONLY|MASTERDOWN|NOREPLICAS|UNBLOCKED) ")


class ServerRefusalError(redis.ConnectionError):
    """The server refuses by its state or role, not because of the command."""


def _nothing() -> None:
    pass


class MasterConnection(AbstractConnection):
    """`on_refusal` is called after a refusal: other connections may lead to the same server."""

    def __init__(self, *, on_refusal: Callable[[], None] = _nothing, **options: Any) -> None:
        self._on_refusal = on_refusal
        self._is_open = False
        super().__init__(**options)

    def on_connect_check_health(self, check_health: bool = True) -> None:
        self._is_open = False  # the library tolerates refusals of some commands of its own
        super().on_connect_check_health(check_health)
        self.send_command("ROLE", check_health=False)  # type: ignore[no-untyped-call]
        try:
            role = self.read_response()
        except ResponseError:  # not permitted: then a refused write tells
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
    found: type[MasterConnection] = _CLASSES[address.scheme]
    return found


def pool(address: RedisAddress, **options: Any) -> redis.ConnectionPool:
    return redis.ConnectionPool(
        connection_class=connection_class(address), **options, **address.options
    )


def is_replica(role: Any) -> bool:
    """Of the reply to ROLE."""
    return bool(role) and str_if_bytes(role[0]) == "slave"


def _is_refusal(error: ResponseError) -> bool:
    return isinstance(error, _REFUSALS) or _REFUSAL_WORDS.search(str(error)) is not None
