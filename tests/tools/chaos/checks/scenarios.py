"""A small database in which every invariant holds, to be broken one at a time."""

from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone

from api.models import IdempotentRequest
from billing.models import Transfer, Wallet
from billing.wallet import ledger
from channels.models import Attempt, Message, Receipt
from otp.models import Verification
from tests.factories import (
    AttemptFactory,
    CompanyFactory,
    MessageFactory,
    ReceiptFactory,
    TransferFactory,
    VerificationFactory,
)
from tools.chaos import checks

TOKENS = 100
PHONE = "+79990000001"
ORDER = "order-1"
BODY = '{"success": true}'


class World:
    """One company that sent one code: delivered, reported, charged and entered."""

    def __init__(self) -> None:
        self.company = CompanyFactory.create()
        ledger.grant(company=self.company, amount=TOKENS, reason="tests")
        self.verification = self.verify()
        self.message = self.send(self.verification.id)
        self.attempt = AttemptFactory.create(message=self.message, state="delivered")
        self.receipt: Receipt = ReceiptFactory.create(
            attempt=self.attempt, applied_at=timezone.now()
        )
        self.hold(self.message)
        self.capture = self.transfer(self.message, "capture", proof="receipt")
        self.request = self.store_request(self.message)
        self.phone: list[dict[str, Any]] = [self.arrival(self.attempt)]
        self.orders = [self.order(ORDER)]
        self.calls = [self.call(ORDER)]
        self.entries = [self.entry("try-1", 200, verification_id=self.verification.id)]

    def verify(self, phone: str = PHONE) -> Verification:
        return VerificationFactory.create(
            company=self.company, phone=phone, verified_at=timezone.now(), attempts=1
        )

    def send(self, subject_id: UUID, **fields: Any) -> Message:
        defaults = {
            "company": self.company,
            "phone": PHONE,
            "subject_id": subject_id,
            "state": "delivered",
            "tries": 1,
            "finished_at": timezone.now(),
        }
        return MessageFactory.create(**defaults | fields)

    def add_message(self, verification: Verification | None = None, **fields: Any) -> Message:
        """A second message, by default of the same verification, with its order and its hold."""
        message = self.send((verification or self.verification).id, **fields)
        self.hold(message)
        self.store_request(message, key="order-2")
        self.orders.append(self.order("order-2"))
        return message

    def hold(self, message: Message, n: int = 1) -> None:
        TransferFactory.create(
            company=self.company, kind="hold", amount=message.price, message_id=message.id, hold=n
        )
        self.wallet(-message.price, message.price)

    def transfer(self, message: Message, kind: str, *, proof: str = "", n: int = 1) -> Transfer:
        """Stores a transfer that settles a hold."""
        returned = message.price if kind == "release" else 0
        self.wallet(returned, -message.price)
        return TransferFactory.create(
            company=self.company,
            kind=kind,
            amount=message.price,
            message_id=message.id,
            proof=proof,
            hold=n,
        )

    def wallet(self, available: int, held: int) -> None:
        result = Wallet.objects.get(company=self.company)
        result.available += available
        result.held += held
        result.save()

    def store_request(self, message: Message, key: str = ORDER) -> IdempotentRequest:
        return IdempotentRequest.objects.create(
            company=self.company,
            mode="live",
            path="/otp/send",
            key=key,
            request_hash=b"0" * 32,
            subject_id=message.id,
            status=200,
            body=BODY,
        )

    def arrival(self, attempt: Attempt, **fields: Any) -> dict[str, Any]:
        """Returns an arrival as the simulator stores it."""
        row = {
            "id": 1,
            "provider": attempt.provider,
            "provider_id": attempt.provider_id,
            "ref": attempt.id,
            "phone": attempt.message.phone,
            "links": [],
            "code": None,
            "state": "delivered",
            "faults": [],
            "is_told": True,
            "attempt_id": None,
            "message_id": None,
        }
        return row | fields

    def order(self, key: str) -> dict[str, Any]:
        phone = self.message.phone
        return {"key": key, "company": self.company.pk, "path": "/otp/send", "phone": phone}

    def call(self, key: str, **fields: Any) -> dict[str, Any]:
        row = {"key": key, "status": 200, "code": "", "message_id": self.message.id, "body": BODY}
        return row | {"is_replayed": False, "seconds": 0.1, "at": 1.0} | fields

    def entry(self, name: str, status: int, code: str = "", **fields: Any) -> dict[str, Any]:
        row = {
            "person": ORDER,
            "key": "",
            "try": name,
            "company": self.company.pk,
            "phone": self.message.phone,
            "is_correct": True,
            "status": status,
            "code": code,
            "verification_id": None,
            "seconds": 0.1,
            "at": 1.0,
        }
        return row | fields

    def write_tables(self) -> None:
        with connection.cursor() as cursor:
            checks.create_tables(cursor)
            tables = {
                "phone_message": self.phone,
                "client_order": self.orders,
                "client_call": self.calls,
                "client_entry": self.entries,
            }
            for name, rows in tables.items():
                checks.fill(cursor, name, [tuple(row.values()) for row in rows])
            checks.match(cursor)
