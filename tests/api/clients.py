"""A client's backend: calls the API over HTTP with one key and parses the responses."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import orjson
from django.test import Client
from django.test.client import ClientHandler

from accounts.models import Company


@dataclass(frozen=True)
class ApiResponse:
    status: int
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = orjson.loads(self.raw)
        return body

    @property
    def code(self) -> str:
        """The error code of a refusal."""
        return str(self.body["code"])


class ClientOf(Protocol):
    """Makes a client with a new key; `fields` are the key's."""

    def __call__(self, company: Company, mode: str = ..., **fields: Any) -> "Api": ...


class Api:
    """`headers` are sent with every call; one call may add to them or replace them."""

    def __init__(self, company: Company, key: str | None, **headers: str) -> None:
        self.company = company
        self.headers = ({"Authorization": f"Bearer {key}"} if key else {}) | headers

    def post(self, path: str, payload: Any = None, /, **headers: str) -> ApiResponse:
        body = b"" if payload is None else json.dumps(payload, separators=(",", ":")).encode()
        return self.call("POST", path, body, **headers)

    def get(
        self, path: str, query: Mapping[str, Any] | None = None, /, **headers: str
    ) -> ApiResponse:
        return self.call("GET", path, b"", "application/json", query, **headers)

    def call(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        content_type: str = "application/json",
        query: Mapping[str, Any] | None = None,
        /,
        **headers: str,
    ) -> ApiResponse:
        """`path` begins with a slash and follows /api/v1; header names may have underscores."""
        sent = self.headers | {name.replace("_", "-"): text for name, text in headers.items()}
        client = Client()
        client.handler = _handler()
        response = client.generic(
            method, f"/api/v1{path}", body, content_type, headers=sent, query_params=query
        )
        return ApiResponse(response.status_code, response.headers, response.content)


@cache
def _handler() -> ClientHandler:
    """A shared handler, because loading the middleware takes longer than a call."""
    handler = ClientHandler(enforce_csrf_checks=False)
    handler.load_middleware()
    return handler
