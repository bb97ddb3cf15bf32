"""The cabinet's pages that send one message without an API client, and check its code."""

from dataclasses import replace
from uuid import UUID

import orjson
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from accounts.audit import record
from accounts.keys import api_keys
from accounts.models import Mode
from accounts.people.cabinet_access import CabinetRequest, can_manage_keys, member_required
from api.rate_limit import key_rate_limiter
from catalogue import ids
from catalogue.errors import DomainError, Error
from catalogue.languages import message_languages
from channels.history import phone_screens
from channels.history.messages import with_charges
from channels.models import Message
from channels.web.views import message_context
from otp import verifications
from otp.models import Verification
from otp.web import cabinet_sends
from otp.web.evidence import evidence_of
from otp.web.send_forms import CodeForm, SendCodeForm, SendForm, SendLinkForm

FORMS: dict[str, type[SendForm]] = {form.kind: form for form in (SendCodeForm, SendLinkForm)}


@member_required(can_manage_keys, can_manage_keys)
def send(request: CabinetRequest) -> HttpResponse:
    kind = request.GET.get("kind", SendCodeForm.kind)
    if kind not in FORMS:
        raise Http404
    form = FORMS[kind](
        request.POST or None, company=request.company, initial=_initial_of_repeat(request)
    )
    refusal: DomainError | None = None
    if request.method == "POST" and form.is_valid():
        try:
            return _redirect_after_send(kind, _send(request, form))
        except DomainError as error:
            refusal = error
            form.add_refusal(error)
    context = {
        "form": form,
        "kind": kind,
        "is_unpaid": refusal is not None and refusal.error is Error.INSUFFICIENT_TOKENS,
    }
    return render(request, "cabinet/send.html", context)


def _initial_of_repeat(request: CabinetRequest) -> dict[str, str]:
    """The form's values for another send by SMS, to a person whom the message did not reach."""
    message_id = ids.parse_id("msg", request.GET.get("again", ""))
    if message_id is None:
        return {}
    message = Message.objects.for_company(request.company).filter(pk=message_id).first()
    if message is None or message.phone.endswith("*"):  # an old message keeps no whole number
        return {}
    filled = {
        "phone": message.phone,
        "mode": message.mode,
        "locale": message_languages.match(message.locale),
    }
    verification = verifications.select_by_message(message).first()
    return filled | {"channel": "sms", "purpose": verification.purpose if verification else ""}


@require_GET
@member_required(can_manage_keys)
def send_channels(request: CabinetRequest) -> HttpResponse:
    """The channels as options of the select, with their prices for the typed number."""
    kind = request.GET.get("kind", SendCodeForm.kind)
    if kind not in FORMS:
        raise Http404
    form = FORMS[kind](request.GET, company=request.company)
    return render(request, "cabinet/send_channels.html", {"form": form})


def _send(request: CabinetRequest, form: SendForm) -> UUID:
    principal = api_keys.without_key(request.company, form.cleaned_data["mode"])
    # The rate limit of an API key, shared by all members.
    counted = replace(principal, key_id=-request.company.pk)
    usage = key_rate_limiter.count(counted)
    if usage is not None and usage.left < 0:
        raise DomainError(Error.RATE_LIMITED, retry_after=usage.wait)
    return cabinet_sends.send(
        principal=principal,
        company=request.company,
        kind=form.kind,
        fields=form.request_fields(),
        token=str(form.cleaned_data["token"]),
        **request.actor,
    )


def _redirect_after_send(kind: str, message_id: UUID) -> HttpResponse:
    page = "send-check" if kind == SendCodeForm.kind else "message-detail"
    return redirect(page, ids.public_id("msg", message_id))


@member_required(can_manage_keys, can_manage_keys)
def send_check(request: CabinetRequest, public_id: str) -> HttpResponse:
    """The message in progress, and a field for its code."""
    message = get_object_or_404(
        with_charges(Message.objects.for_company(request.company).select_related("api_key")),
        pk=ids.parse_id("msg", public_id),
        kind=Message.Kind.CODE,
    )
    verification = verifications.select_by_message(message).first()
    form = CodeForm(request.POST or None)
    if request.method == "POST" and verification and form.is_valid():
        try:
            cabinet_sends.check(
                company=request.company, verification=verification, code=form.cleaned_data["code"]
            )
        except DomainError as error:
            form.add_error("code", _refusal_text(error))
        else:
            messages.success(request, _("The code is correct: the number is verified."))
            return redirect("send-check", message.public_id)
    context = {
        "form": form,
        "state": _state(verification),
        "bubble": phone_screens.bubble(message) if message.mode == Mode.TEST else None,
        **message_context(request, message),
    }
    return render(request, "cabinet/send_check.html", context)


@member_required(can_manage_keys, is_recorded=True)
def message_evidence(request: CabinetRequest, public_id: str) -> HttpResponse:
    """The evidence of the agreement given by a message's code, as a file."""
    message = get_object_or_404(
        Message.objects.for_company(request.company),
        pk=ids.parse_id("msg", public_id),
        kind=Message.Kind.CODE,
    )
    row = get_object_or_404(verifications.select_by_message(message))
    (verification,) = verifications.with_messages([row])
    record("history.exported", "evidence", company=request.company, **request.actor)
    body = orjson.dumps(evidence_of(request.company.pk, verification), option=orjson.OPT_INDENT_2)
    response = HttpResponse(body, content_type="application/json")
    name = ids.public_id("otp", verification.id)
    response["Content-Disposition"] = f'attachment; filename="{name}.json"'
    return response


def _state(verification: Verification | None) -> str:
    """Whether a code can be entered: `open`, `verified` or `ended`."""
    if verification is None:
        return "ended"
    if verification.verified_at:
        return "verified"
    is_live = verification.superseded_at is None and verification.expires_at > timezone.now()
    return "open" if is_live else "ended"


def _refusal_text(error: DomainError) -> str:
    text = str(error.message)
    attempts_left = error.extra.get("attempts_left")
    return (
        text
        if attempts_left is None
        else f"{text}. " + _("Attempts left: %(n)d.") % {"n": attempts_left}
    )
