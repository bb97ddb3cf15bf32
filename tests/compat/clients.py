"""A client of another service, pointed at one of the dialects."""

import base64
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.test import Client

from accounts.models import Company, Mode
from compat.dialect import Dialect
from tests.api.clients import ApiResponse, _handler
from tests.factories import ApiKeyFactory, IssuedKey

FORM = "application/x-www-form-urlencoded"


def client_key(company: Company, purpose: str = "login", **fields: Any) -> IssuedKey:
    return ApiKeyFactory.create(company=company, **{"purpose": purpose, "mode": Mode.TEST} | fields)


def authorizations(key: str) -> list[str]:
    """The headers of each way to present a key."""
    pair = base64.b64encode(f"AC00000000000000000000000000000000:{key}".encode()).decode()
    return [f"Basic {pair}", f"Bearer {key}", f"App {key}"]


def authorization(dialect: Dialect, key: str) -> str:
    """The headers of the dialect's first way to present a key."""
    way = dialect.authenticate[0]
    shown = (text for text in authorizations(key) if way({"HTTP_AUTHORIZATION": text}))
    return next(shown, authorizations(key)[0])


class DialectClient:
    """Sends forms, or JSON where a payload is given. `path` follows the dialect's own."""

    def __init__(self, dialect: Dialect, key: str | None, **headers: str) -> None:
        self.dialect = dialect
        self.headers = {"Authorization": authorization(dialect, key)} if key else {}
        self.headers |= headers

    def form(self, path: str, fields: Mapping[str, Any], method: str = "POST") -> ApiResponse:
        return self.call(method, path, urlencode(fields).encode(), FORM)

    def json(self, path: str, payload: Any, method: str = "POST") -> ApiResponse:
        return self.call(method, path, json.dumps(payload).encode(), "application/json")

    def get(self, path: str) -> ApiResponse:
        return self.call("GET", path)

    def call(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        content_type: str = "application/json",
        **headers: str,
    ) -> ApiResponse:
        client = Client()
        client.handler = _handler()
        sent = self.headers | {name.replace("_", "-"): text for name, text in headers.items()}
        response = client.generic(
            method, f"{self.dialect.path}{path}", body, content_type, headers=sent
        )
        return ApiResponse(response.status_code, response.headers, response.content)
