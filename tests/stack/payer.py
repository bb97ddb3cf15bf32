"""A payer: tops up by the API, and has the payment simulator do what payers and banks do."""

from typing import Any

import requests

from billing.models import BillingProfile, Order, Payment
from billing.wallet import ledger
from catalogue.ids import parse_id
from tests.stack.sender import Sender
from tests.stack.stack import Stack

TOKENS = 1000


class Payer:
    def __init__(self, stack: Stack, gateway: str) -> None:
        self.stack = stack
        self.gateway = gateway
        self.sender: Sender = stack.sender()
        self.company = self.sender.company
        facts = {"legal_name": self.company.name, "inn": "7800000002", "kpp": "780001001"}
        BillingProfile.objects.get_or_create(company=self.company, defaults=facts)
        self.before = ledger.balance(self.company.pk)[0]
        self.order_id = ""
        self.payment = ""

    def place(self) -> requests.Response:
        response = requests.post(
            f"{self.stack.url}/api/v1/top-up",
            json={"tokens": TOKENS, "gateway": self.gateway},
            headers={"Authorization": f"Bearer {self.sender.key}"},
            timeout=30,
        )
        if response.ok:
            self.order_id = response.json()["id"]
            self.payment = str(response.json()["payment_url"]).rsplit("/", 1)[-1]
        return response

    @property
    def order(self) -> Order:
        order_id = parse_id("top", self.order_id)
        assert order_id is not None
        return Order.objects.get(pk=order_id)

    @property
    def gained(self) -> int:
        return ledger.balance(self.company.pk)[0] - self.before

    @property
    def problems(self) -> list[str]:
        """The faults of its payments."""
        rows = Payment.objects.filter(order__company=self.company).exclude(problem="")
        return sorted(rows.values_list("problem", flat=True))

    def act(self, action: str, **more: Any) -> None:
        url = f"{self.stack.carrier.url}/payments/{self.payment}/actions"
        response = requests.post(url, json={"action": action, **more}, timeout=30)
        assert response.ok, response.text

    def transfer(self, **changes: Any) -> None:
        """A bank transfer that names the invoice."""
        order = self.order
        facts = {"amount": str(order.amount), "purpose": f"Оплата по счёту № {order.number}"}
        self.transfer_of(facts | changes)

    def transfer_of(self, facts: dict[str, str]) -> None:
        """Touches no database, so that a thread may call it."""
        url = f"{self.stack.carrier.url}/transfers"
        response = requests.post(url, json=facts, timeout=30)
        assert response.status_code == requests.codes.created, response.text

    def set_fault(self, kind: str, **fault: Any) -> None:
        url = f"{self.stack.carrier.url}/payment-faults"
        response = requests.post(
            url, json={"provider": self.gateway, "kind": kind, **fault}, timeout=9
        )
        assert response.status_code == requests.codes.created, response.text
