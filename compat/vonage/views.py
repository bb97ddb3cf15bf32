"""The calls of Vonage Verify v2."""

from collections.abc import Mapping, Sized

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from api.calls import array, boolean, integer, text
from api.request_body import json_object
from api.request_fields import NOT_TEXT, REQUIRED, WRONG_FORMAT, allowed_values
from catalogue.errors import DomainError, Error
from catalogue.texts import StrOrPromise
from channels.accept.acceptance import Sender
from channels.models import Message
from channels.routing.company_policy import RequestedOrder
from compat.fields import Body, custom_code, entered_code, optional, parsed, required, values
from compat.view import CompatView
from compat.vonage.dialect import CONFLICT, DIALECT, FORBIDDEN, NOT_FOUND, THROTTLED, ProblemError
from otp import verifications
from otp.next_channel import send_by_next_channel
from otp.send.code_request import CodeSendRequest
from otp.verifications import FoundVerification, State
from parsing import characters

CHANNELS = {"sms": "sms", "whatsapp": "whatsapp"}  # Vonage's names, and ours
UNSUPPORTED_CHANNELS = ("whatsapp_interactive", "voice", "rcs", "email", "silent_auth")
MAX_STEPS = 10
MAX_TO = 50
# Seconds that a code is valid.
MIN_LIFETIME = 60
MAX_LIFETIME = 900

MAX_DIGITS = 8


def length(digits: int) -> int:
    if digits > MAX_DIGITS:
        raise ValidationError(format_lazy(_("At most {max} digits"), max=MAX_DIGITS))
    return digits


WORKFLOW = required("workflow", array() | {"minItems": 1, "maxItems": MAX_STEPS})
START = (
    # Unused, because texts contain the company's own brand.
    required("brand", text(minLength=1, maxLength=18)),
    parsed("code_length", integer(4, 10), length),
    optional("channel_timeout", integer(15, 900)),
    optional("template_id", text(maxLength=0), _("Template not found")),
    optional("locale", text(pattern="[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8}){0,4}")),
    optional("fraud_check", boolean()),
    optional("client_ref", text(maxLength=40)),
    custom_code("code"),
)
NO_SUPPORTED_CHANNEL = format_lazy(
    _("This service sends by {channels}; none of them is in the workflow"),
    channels=", ".join(CHANNELS),
)
NOT_FIRST = _("silent_auth must be the first step")
ANOTHER_NUMBER = _("All steps must go to one number")


def _lifetime(timeout: int | None, channels: Sized) -> int | None:
    """The lifetime of a code: the sum of all steps' timeouts, within bounds."""
    if timeout is None:
        return None
    return min(max(timeout * len(channels), MIN_LIFETIME), MAX_LIFETIME)


def _steps(fields: Body) -> list[tuple[str, str]]:
    """Our channel and the number of each step.

    Steps by a channel that we lack (voice, e-mail, silent authentication) are skipped, as Vonage
    skips a step that fails; a workflow without other steps is refused.
    """
    is_given = fields.payload.get(WORKFLOW.name) is not None
    workflow = fields.array(WORKFLOW) if is_given else []
    if not is_given:
        fields.add_error(WORKFLOW, REQUIRED)
    errors = dict(fault for index, step in enumerate(workflow) if (fault := _fault(index, step)))
    fields.errors |= {name: [reason] for name, reason in errors.items()}
    if fields.errors:
        return []
    steps = [
        (CHANNELS[step["channel"]], step["to"]) for step in workflow if step["channel"] in CHANNELS
    ]
    if not steps:
        fields.errors["workflow[0].channel"] = [NO_SUPPORTED_CHANNEL]
    elif len({to for _channel, to in steps}) > 1:
        fields.errors["workflow[1].to"] = [ANOTHER_NUMBER]
    return steps


def _fault(index: int, step: object) -> tuple[str, StrOrPromise] | None:
    """The invalid parameter of a step, and the reason."""
    if not isinstance(step, Mapping):
        return f"workflow[{index}]", WRONG_FORMAT
    channel = step.get("channel")
    to = step.get("to")
    if not isinstance(channel, str) or channel not in {*CHANNELS, *UNSUPPORTED_CHANNELS}:
        return f"workflow[{index}].channel", allowed_values([*CHANNELS, *UNSUPPORTED_CHANNELS])
    if channel == "silent_auth" and index:
        return f"workflow[{index}].channel", NOT_FIRST
    if not isinstance(to, str):
        return f"workflow[{index}].to", REQUIRED if to is None else NOT_TEXT
    if not 0 < len(to) <= MAX_TO or not characters.is_line(to):
        return f"workflow[{index}].to", WRONG_FORMAT
    return None


CHECK = (entered_code("code"),)
NO_FRAUD_CHECK = FORBIDDEN._replace(
    detail="fraud_check: the protection against pumping is switched off only in the cabinet"
)
NO_TEMPLATES = FORBIDDEN._replace(detail="Templates management is not enabled for your account")
ALREADY_RUNNING = CONFLICT._replace(
    detail="Concurrent verifications to the same number are not allowed"
)
NO_EVENT_TO_TRIGGER = CONFLICT._replace(detail="There are no more events left to trigger.")
FINISHED_ERRORS = {Error.CODE_EXPIRED, Error.CODE_USED, Error.CODE_NOT_FOUND, Error.NOT_FOUND}


class Requests(CompatView):
    dialect = DIALECT

    def post(self, request: HttpRequest) -> HttpResponse:
        body = Body(json_object(request), START)
        steps = _steps(body)
        body.check()
        if body["fraud_check"] is False:  # the company switches the check off in the cabinet only
            raise ProblemError(NO_FRAUD_CHECK, Error.FORBIDDEN)
        phone = self.number(steps[0][1], needs_plus=False)
        self._refuse_running(phone)
        try:
            sent_code = self.send(self._request(phone, body, steps))
        except DomainError as error:
            if error.error is Error.RESEND_TOO_SOON:
                self._refuse_running(phone, error.retry_after)  # another request came first
            if error.error is Error.TOO_MANY_ATTEMPTS:
                wait = error.retry_after
                raise ProblemError(THROTTLED, Error.TOO_MANY_ATTEMPTS, retry_after=wait) from None
            raise
        return self.respond({"request_id": str(sent_code.verification_id)}, 202)

    def _request(self, phone: str, body: Body, steps: list[tuple[str, str]]) -> CodeSendRequest:
        channels = tuple(dict.fromkeys(channel for channel, _to in steps))
        return self.code_request(
            phone,
            body["locale"],
            order=RequestedOrder(channels, body["channel_timeout"]),
            lifetime=_lifetime(body["channel_timeout"], channels),
            reference=body["client_ref"] or "",
            code_length=body["code_length"],
            custom_code=body["code"],
        )

    def _refuse_running(self, phone: str, retry_after: int | None = None) -> None:
        """Raises if a verification of the phone runs already.

        One whose messages all failed does not run: the response to its start was the failure.
        """
        running = self.find_started(phone, retry_after)
        messages = running.messages if running else []
        if running and any(message.state not in Message.FAILED_STATES for message in messages):
            raise ProblemError(ALREADY_RUNNING, Error.RESEND_TOO_SOON, request_id=str(running.id))


class RunningView(CompatView):
    """The base of calls about a verification that has not ended."""

    dialect = DIALECT

    def find_running(self, request_id: str) -> FoundVerification:
        verification = self.find(request_id)
        if verification.state not in {State.PENDING, State.EXHAUSTED}:
            raise DomainError(Error.NOT_FOUND)
        return verification

    def error_response(self, error: DomainError) -> HttpResponse:
        if error.error in FINISHED_ERRORS:
            request_id = self.kwargs["request_id"][:36]
            detail = f"Request '{request_id}' was not found or it has been verified already."
            error = ProblemError(NOT_FOUND._replace(detail=detail), Error.NOT_FOUND)
        return super().error_response(error)


class Verification(RunningView):
    def post(self, request: HttpRequest, request_id: str) -> HttpResponse:
        code = values(json_object(request), CHECK)["code"]
        verification = self.find_running(request_id)
        self.check_found(verification, code)
        return self.respond({"request_id": str(verification.id), "status": "completed"})

    def delete(self, _request: HttpRequest, request_id: str) -> HttpResponse:
        verifications.cancel(self.principal, self.find_running(request_id).id)
        return self.respond(status=204)


class NextWorkflow(RunningView):
    """Starts the workflow's next step, whether or not the last message has arrived."""

    def post(self, _request: HttpRequest, request_id: str) -> HttpResponse:
        verification = self.find_running(request_id)
        if not (verification.messages and verification.messages[-1].chain):
            raise ProblemError(NO_EVENT_TO_TRIGGER, Error.CHANNEL_UNAVAILABLE)
        try:
            sent_code = send_by_next_channel(
                Sender(self.principal, self.request_id), verification.id
            )
        except DomainError as error:
            if error.error is Error.CHANNEL_UNAVAILABLE:  # the custom code is no longer stored
                raise ProblemError(NO_EVENT_TO_TRIGGER, Error.CHANNEL_UNAVAILABLE) from None
            raise
        self.message_id = sent_code.outcome.message_id
        return self.respond()


class Templates(CompatView):
    """Refuses the calls of templates: texts are set in the cabinet."""

    dialect = DIALECT

    def get(self, _request: HttpRequest, **_ids: str) -> HttpResponse:
        raise ProblemError(NO_TEMPLATES, Error.FORBIDDEN)

    post = get
    patch = get
    delete = get


TEMPLATE = "v2/verify/templates/<template>"
templates = Templates.as_view()

urlpatterns = [
    path("v2/verify", Requests.as_view()),
    path("v2/verify/", Requests.as_view()),
    path("v2/verify/templates", templates),
    path(TEMPLATE, templates),
    path(f"{TEMPLATE}/template_fragments", templates),
    path(f"{TEMPLATE}/template_fragments/<fragment>", templates),
    path("v2/verify/<request_id>", Verification.as_view()),
    path("v2/verify/<request_id>/next_workflow", NextWorkflow.as_view()),
]
