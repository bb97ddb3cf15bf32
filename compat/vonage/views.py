"""The calls of Vonage Verify v2."""

from django.http import HttpResponse
from rest_framework.request import Request

from api.request_fields import RequestFields
from catalogue.errors import DomainError, Error
from channels.accept.acceptance import Sender
from channels.lifecycle.states import OPEN_MESSAGE
from compat.fields import guess
from compat.view import CompatView
from compat.vonage import workflow
from compat.vonage.dialect import CONFLICT, DIALECT, FORBIDDEN, NOT_FOUND, THROTTLED, ProblemError
from otp import verifications
from otp.next_channel import send_by_next_channel
from otp.send import CodeSendRequest
from otp.verifications import FoundVerification, State

CODE = guess("code")
NO_FRAUD_CHECK = FORBIDDEN._replace(
    detail="fraud_check: the protection against pumping is switched off in the cabinet alone"
)
NO_TEMPLATES = FORBIDDEN._replace(detail="Templates management is not enabled for your account")
RUNNING = CONFLICT._replace(detail="Concurrent verifications to the same number are not allowed")
NO_MORE = CONFLICT._replace(detail="There are no more events left to trigger.")
OVER = {Error.CODE_EXPIRED, Error.CODE_USED, Error.CODE_NOT_FOUND, Error.NOT_FOUND}


class Requests(CompatView):
    dialect = DIALECT

    def post(self, request: Request) -> HttpResponse:
        start = workflow.read(self.json_object(request))
        if not start.has_fraud_check:  # which the company alone switches off
            raise ProblemError(NO_FRAUD_CHECK, Error.FORBIDDEN)
        phone = self.number(start.to, needs_plus=False)
        self._refuse_running(phone)
        try:
            sent = self.send(self.code_request(phone, start.locale, **start.options))
        except DomainError as error:
            if error.error is Error.RESEND_TOO_SOON:
                self._refuse_running(phone)  # another request came first
            if error.error is Error.TOO_MANY_ATTEMPTS:
                raise ProblemError(THROTTLED, Error.TOO_MANY_ATTEMPTS) from None
            raise
        return self.answer({"request_id": str(sent.verification_id)}, 202)

    def _refuse_running(self, phone: str) -> None:
        running = self.find_live(phone)
        if running is not None:
            raise ProblemError(RUNNING, Error.RESEND_TOO_SOON, request_id=str(running.id))


class RunningView(CompatView):
    """Calls about a verification that is not over."""

    dialect = DIALECT

    def running_one(self, request_id: str) -> FoundVerification:
        verification = self.find(request_id)
        if verification.state not in {State.PENDING, State.EXHAUSTED}:
            raise DomainError(Error.NOT_FOUND)
        return verification

    def refuse(self, error: DomainError) -> HttpResponse:
        if error.error in OVER:
            named = self.kwargs["request_id"][:36]
            detail = f"Request '{named}' was not found or it has been verified already."
            error = ProblemError(NOT_FOUND._replace(detail=detail), Error.NOT_FOUND)
        return super().refuse(error)


class Verification(RunningView):
    def post(self, request: Request, request_id: str) -> HttpResponse:
        fields = RequestFields(self.json_object(request))
        code = fields.text(CODE) or ""
        fields.check()
        verification = self.running_one(request_id)
        self.check_found(verification, code)
        return self.answer({"request_id": str(verification.id), "status": "completed"})

    def delete(self, _request: Request, request_id: str) -> HttpResponse:
        verifications.cancel(self.principal, self.running_one(request_id).id)
        return self.answer(status=204)


class NextWorkflow(RunningView):
    """The next step of the workflow: of a message under way, or of one that arrived."""

    def post(self, _request: Request, request_id: str) -> HttpResponse:
        verification = self.running_one(request_id)
        message = verification.messages[-1]
        if not message.chain:
            raise ProblemError(NO_MORE, Error.CHANNEL_UNAVAILABLE)
        if message.state in OPEN_MESSAGE:
            send_by_next_channel(Sender(self.principal, self.request_id), verification.id)
        else:
            self.send(self._rest(verification))
        return self.answer()

    def _rest(self, verification: FoundVerification) -> CodeSendRequest:
        """By its name the channel is not held by the pause between codes."""
        message = verification.messages[-1]
        channel = message.chain[0]["channel"]
        return self.code_request(
            verification.phone, message.locale, channel=channel, reference=verification.reference
        )


class Templates(CompatView):
    """Texts are set in the cabinet."""

    dialect = DIALECT

    def get(self, _request: Request, **_ids: str) -> HttpResponse:
        raise ProblemError(NO_TEMPLATES, Error.FORBIDDEN)

    post = patch = delete = get
