"""The base view of every call that sends: parse, send, respond, repeat the response."""

from abc import abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from accounts.masked_phones import mask_phone
from api.idempotency import IdempotencyKey
from api.idempotent_view import IdempotentView
from catalogue.ids import public_id
from channels.accept.acceptance import Sender
from channels.accept.outcome import SendOutcome, is_response_known, raise_if_failed
from channels.models import Message
from channels.web.status_texts import status_text


class SendView(IdempotentView):
    kind: ClassVar[str]
    send: "ClassVar[staticmethod[..., object]]"  # the use case, of a sender and a request
    repeat: "ClassVar[staticmethod[[Message], object]]"  # its result, read from the database
    locale = ""  # the requested tag

    @abstractmethod
    def parse(self, payload: dict[str, Any]) -> Any:
        """Validates the request's fields."""

    @abstractmethod
    def body(self, result: Any) -> dict[str, Any]:
        """The body of the response."""

    def post(self, request: HttpRequest) -> HttpResponse:
        payload = self.payload(request)
        parsed = self.parse(payload)
        self.phone = mask_phone(parsed.phone)
        self.locale = parsed.locale
        idempotency_key = self.idempotency_key(request, payload)
        sender = Sender(self.principal, self.request_id, idempotency_key)

        def effect() -> dict[str, Any]:
            return self.body(self.send(sender=sender, request=parsed))

        with self.guess_limit(parsed, idempotency_key) if idempotency_key else nullcontext():
            return self.once(idempotency_key, effect, self.rebuild)

    def guess_limit(self, _parsed: Any, _key: IdempotencyKey) -> AbstractContextManager[object]:
        """The context in which a request with an Idempotency-Key is handled.

        A subclass limits requests whose stored response would confirm a guess.
        """
        return nullcontext()

    def rebuild(self, message_id: UUID) -> dict[str, Any] | None:
        """The response to a send whose process died before it responded; None while it may run."""
        message = Message.objects.get(pk=message_id)
        if not is_response_known(message):
            return None
        raise_if_failed(message.pk, message.state, message.channel, message.error)
        self.locale = message.locale
        return self.body(self.repeat(message))

    def outcome_body(self, outcome: SendOutcome, **more: Any) -> dict[str, Any]:
        self.message_id = outcome.message_id
        return self.success(
            {
                "message": status_text(self.kind, outcome.channel, outcome.state),
                "id": public_id("msg", outcome.message_id),
                "phone": outcome.phone,
                "channel": outcome.channel,
                "locale": self.locale,
                "status": outcome.state,
                "cost": outcome.cost,
                "test": outcome.is_test,
                **more,
            }
        )
