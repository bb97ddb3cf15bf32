"""A client of the carrier simulator: reads phones, sets faults."""

from typing import Any

import requests


class Carrier:
    def __init__(self, url: str) -> None:
        self.url = url

    def phones(self) -> list[dict[str, Any]]:
        """Every phone that got messages, with their number."""
        body: list[dict[str, Any]] = requests.get(f"{self.url}/phones", timeout=10).json()
        return body

    def messages(self, phone: str) -> list[dict[str, Any]]:
        """Messages on a phone, newest first."""
        response = requests.get(f"{self.url}/phones/{phone}/messages", timeout=10)
        body: list[dict[str, Any]] = response.json()
        return body

    def message(self, phone: str) -> dict[str, Any]:
        """The only message on a phone."""
        (only,) = self.messages(phone)
        return only

    def code(self, phone: str) -> str:
        """The code in the newest message."""
        code: str = self.messages(phone)[0]["code"]
        return code

    def set_fault(self, kind: str | None = None, **fault: object) -> None:
        response = requests.post(f"{self.url}/faults", json={"kind": kind, **fault}, timeout=10)
        assert response.status_code == requests.codes.created, response.text

    def clear_faults(self) -> None:
        requests.delete(f"{self.url}/faults", timeout=10).raise_for_status()

    def act_on_bot(self, phone: str, action: str) -> None:
        """An action of the person: share, unshare, block, unblock, start or stop."""
        url = f"{self.url}/phones/{phone}/contact"
        requests.post(url, json={"action": action}, timeout=10).raise_for_status()

    def reply(self, phone: str, text: str) -> None:
        """The person answers the newest message."""
        url = f"{self.url}/messages/{self.messages(phone)[0]['id']}/reply"
        requests.post(url, json={"text": text}, timeout=10).raise_for_status()
