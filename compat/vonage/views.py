"""The calls of Vonage Verify v2."""

from typing import NoReturn
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from api.calls import Field, text
from api.request_fields import RequestFields
from catalogue.errors import DomainError, Error
from channels.accept.acceptance import Sender
from channels.lifecycle.states import OPEN_MESSAGE
from channels.routing.company_policy import AskedOrder, locale_for
from compat.dialect import Answer
from compat.view import CompatView
from compat.vonage import workflow
from compat.vonage.dialect import CONFLICT, DIALECT, FORBIDDEN, NOT_FOUND, THROTTLED, ProblemError
from compat.vonage.workflow import Start
from otp import verifications
from otp.next_channel import send_by_next_channel
from otp.send import CodeSendRequest
from otp.verifications import FoundVerification, State
from parsing import clipboard

CODE = Field("code", text(pattern="[a-zA-Z0-9]{4,10}"), "", reading=clipboard.code)
NOT_PERMITTED = FORBIDDEN._replace(
    detail="Your account does not have permission to perform this action."
)
NO_TEMPLATES = FORBIDDEN._replace(detail="Templates management is not enabled for your account")
RUNNING = CONFLICT._replace(detail="Concurrent verifications to the same number are not allowed")
NO_MORE = CONFLICT._replace(detail="There are no more events left to trigger.")
OVER = {Error.CODE_EXPIRED, Error.CODE_USED, Error.CODE_NOT_FOUND, Error.NOT_FOUND}


class VonageView(CompatView):
    dialect = DIALECT

    def running(self, request_id: str) -> FoundVerification:
        """A verification that is not over."""
        try:
            verification = self.find(UUID(request_id))
        except (ValueError, DomainError):
            self.refuse_unknown(request_id)
        if verification.state not in {State.PENDING, State.EXHAUSTED}:
            self.refuse_unknown(request_id)
        return verification

    def refuse_unknown(self, request_id: str) -> NoReturn:
        detail = f"Request '{request_id[:36]}' was not found or it has been verified already."
        raise ProblemError(NOT_FOUND._replace(detail=detail), Error.NOT_FOUND) from None


class Requests(VonageView):
    def post(self, request: Request) -> HttpResponse:
        start = workflow.read(self.json_object(request))
        if not start.has_fraud_check:  # which the company alone switches off
            raise ProblemError(NOT_PERMITTED, Error.FORBIDDEN)
        phone = self.number(start.to, needs_plus=False)
        self._refuse_running(phone)
        try:
            sent = self.send(self._code(start, phone))
        except DomainError as error:
            if error.error is Error.RESEND_TOO_SOON:
                self._refuse_running(phone)  # another request came first
            if error.error is Error.TOO_MANY_ATTEMPTS:
                raise ProblemError(THROTTLED, Error.TOO_MANY_ATTEMPTS) from None
            raise
        return self.respond(Answer(202, {"request_id": str(sent.verification_id)}))

    def _refuse_running(self, phone: str) -> None:
        running = self.find_live(phone)
        if running is not None:
            raise ProblemError(RUNNING, Error.RESEND_TOO_SOON, request_id=str(running.id))

    def _code(self, start: Start, phone: str) -> CodeSendRequest:
        purpose = self.principal.purpose
        return CodeSendRequest(
            phone=phone,
            purpose=purpose,
            locale=start.locale or locale_for(self.principal, phone, purpose),
            channel=None,
            link=None,
            order=AskedOrder(start.channels, start.timeout),
            lifetime=start.lifetime,
            code_length=start.code_length,
            custom_code=start.code,
            reference=start.reference,
        )


class Verification(VonageView):
    def post(self, request: Request, request_id: str) -> HttpResponse:
        fields = RequestFields(self.json_object(request))
        code = fields.text(CODE) or ""
        fields.check()
        verification = self.running(request_id)
        try:
            self.check(code, phone=verification.phone, verification_id=verification.id)
        except DomainError as error:
            if error.error in OVER:
                self.refuse_unknown(request_id)
            raise
        return self.respond(
            Answer(200, {"request_id": str(verification.id), "status": "completed"})
        )

    def delete(self, _request: Request, request_id: str) -> HttpResponse:
        try:
            verifications.cancel(self.principal, self.running(request_id).id)
        except DomainError as error:
            if error.error in OVER:
                self.refuse_unknown(request_id)
            raise
        return self.respond(Answer(204))


class NextWorkflow(VonageView):
    """The next step of the workflow: of a message under way, or of one that arrived."""

    def post(self, _request: Request, request_id: str) -> HttpResponse:
        verification = self.running(request_id)
        message = verification.messages[-1]
        if not message.chain:
            raise ProblemError(NO_MORE, Error.CHANNEL_UNAVAILABLE)
        try:
            if message.state in OPEN_MESSAGE:
                send_by_next_channel(Sender(self.principal, self.request_id), verification.id)
            else:
                self.send(self._rest(verification))
        except DomainError as error:
            if error.error in OVER:
                self.refuse_unknown(request_id)
            raise
        return self.respond(Answer(200))

    def _rest(self, verification: FoundVerification) -> CodeSendRequest:
        """By its name the channel is not held by the pause between codes."""
        message = verification.messages[-1]
        return CodeSendRequest(
            phone=verification.phone,
            purpose=verification.purpose,
            locale=message.locale,
            channel=message.chain[0]["channel"],
            link=None,
            reference=verification.reference,
        )


class Templates(VonageView):
    """Texts are set in the cabinet."""

    def get(self, _request: Request, **_ids: str) -> HttpResponse:
        raise ProblemError(NO_TEMPLATES, Error.FORBIDDEN)

    post = patch = delete = get
