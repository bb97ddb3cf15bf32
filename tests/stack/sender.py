"""A company's backend: what it sends to the API with its live key."""

from dataclasses import dataclass
from typing import Any

import requests

from accounts.models import Company


@dataclass(frozen=True)
class Sender:
    url: str
    company: Company
    key: str

    def post(
        self, path: str, body: dict[str, Any], *, idempotency_key: str | None = None
    ) -> requests.Response:
        named = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
        return requests.post(
            f"{self.url}/api/v1{path}", json=body, headers=self._headers | named, timeout=20
        )

    def send_code(
        self, phone: str, *, idempotency_key: str | None = None, **body: Any
    ) -> requests.Response:
        body = {"phone": phone, **body}
        return self.post("/otp/send", body, idempotency_key=idempotency_key)

    def verify(self, phone: str, code: str) -> requests.Response:
        return self.post("/otp/verify", {"phone": phone, "code": code})

    def send_link(self, phone: str, url: str, **body: Any) -> requests.Response:
        return self.post("/links/send", {"phone": phone, "url": url, **body})

    def balance(self) -> tuple[int, int]:
        """(available, held)"""
        body = self.get("/balance").json()
        return body["available"], body["held"]

    def get(self, path: str) -> requests.Response:
        return requests.get(f"{self.url}/api/v1{path}", headers=self._headers, timeout=20)

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}
