"""Calls of URLs whose host resolves to the addresses of a test, and their results."""

import socket
from typing import Any

import pytest

from webhooks import egress
from webhooks.egress import CallError, Failure

HOST = "receiver.example.com"


def names(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> None:
    """Name servers that return these addresses: one list per query, the last one from then on."""
    left = list(answers)

    def getaddrinfo(host: str, port: int, *_arguments: Any, **_options: Any) -> list[Any]:
        result = left.pop(0) if len(left) > 1 else left[0]
        if not result:
            raise socket.gaierror
        families = {True: socket.AF_INET6, False: socket.AF_INET}
        return [
            (families[":" in address], socket.SOCK_STREAM, 6, "", (address, port))
            for address in result
        ]

    real = socket.getaddrinfo
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, *rest, **more: (
            getaddrinfo(host, *rest, **more)
            if host.rstrip(".") == HOST
            else real(host, *rest, **more)
        ),
    )


def outcome(url: str) -> egress.EndpointResponse | Failure:
    try:
        return egress.post(url, b"{}", {"Content-Type": "application/json"})
    except CallError as error:
        return error.failure
