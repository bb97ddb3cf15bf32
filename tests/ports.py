"""Finds a free port."""

import secrets
import socket
from contextlib import suppress

# Below those that the system gives to outgoing connections (`ip_local_port_range`): one of these
# would have the port before the server listens, minutes later.
PORTS = range(10_000, 32_000)


def free_port() -> int:
    while True:
        port = secrets.choice(PORTS)  # not by `random`, which tests seed
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
