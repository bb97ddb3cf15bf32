"""The cabinet's pages about identity servers: the list, a hook, its settings and secret."""

import json
import secrets
import time
from io import BytesIO
from ipaddress import ip_network
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib import messages
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _

from accounts.audit import record
from accounts.form_pages import LastUse, PageLink, confirm_page, form_page, refusals_on
from accounts.masked_phones import mask_phone
from accounts.models import Mode, User
from accounts.people.cabinet_access import (
    CabinetRequest,
    can_manage_keys,
    can_read_technical_pages,
    member_required,
    nobody,
)
from accounts.security import reauthentication
from api.models import ApiRequest
from catalogue.channels import BY_NAME
from catalogue.errors import DomainError, Error
from channels import phone_numbers
from identity_hooks import hooks
from identity_hooks.hook_call import SimulatedCall
from identity_hooks.kind import Kind, Setting, Trial
from identity_hooks.kinds import kinds
from identity_hooks.models import Hook
from identity_hooks.web.forms import NewHookForm, SecretForm, TrialForm, form_for
from identity_hooks.web.hook_view import path_template, receive_call

LOOPBACK = "127.0.0.1"


class TrialResult(NamedTuple):
    body: str  # of the simulated call
    status: int
    response: str
    is_sent: bool


def run_trial(*, hook: Hook, phone: str, user: User, ip: str | None = None) -> TrialResult:
    """Simulates a call of the server, signed with the real secret, in the view for its calls.

    Raises a DomainError if `phone` is not a phone, or no secret can be used.
    """
    number = phone_numbers.normalise(phone, hook.company.country)
    kind = hooks.kind_of(hook)
    code = "".join(secrets.choice("0123456789") for _digit in range(hook.code_length))
    if not (usable := hooks.usable_secrets(hook)):
        raise DomainError(Error.INVALID_INPUT, message=hooks.UNUSABLE)
    simulated = kind.simulate(Trial(usable[0], number, code, time.time(), hooks.options_of(hook)))
    record("hook.tried", f"{hook} {mask_phone(number)}", company=hook.company, user=user, ip=ip)
    response = receive_call(_request(hook, simulated), hook.kind, hook.url_id)
    content = response.content.decode(errors="replace")
    is_sent = response.status_code < 300 and '"error"' not in content
    return TrialResult(
        _pretty(simulated.body.decode()), response.status_code, _pretty(content), is_sent
    )


def _request(hook: Hook, simulated: SimulatedCall) -> WSGIRequest:
    address = _address(hook)
    environ: dict[str, Any] = {
        f"HTTP_{name.upper().replace('-', '_')}": text for name, text in simulated.headers.items()
    }
    if count := settings.TRUSTED_PROXY_COUNT:  # as our own proxies would set it
        environ["HTTP_X_FORWARDED_FOR"] = ", ".join([address] * count)
    return WSGIRequest(
        environ
        | {
            "REQUEST_METHOD": simulated.method,
            "PATH_INFO": hook.path,
            "QUERY_STRING": simulated.query,
            "CONTENT_TYPE": environ.pop("HTTP_CONTENT_TYPE", ""),
            "CONTENT_LENGTH": str(len(simulated.body)),
            "REMOTE_ADDR": address,
            "wsgi.input": BytesIO(simulated.body),
        }
    )


def _address(hook: Hook) -> str:
    """An address from which the server may call."""
    if not hook.allowed_ips:
        return LOOPBACK
    return str(ip_network(hook.allowed_ips[0], strict=False).network_address)


def _pretty(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text


HIDDEN_SECRET = "YOUR_SECRET"  # noqa: S105 - a placeholder
LAST_CALLS = 10


class Row(NamedTuple):
    hook: Hook
    kind: Kind


class Piece(NamedTuple):
    """A setting of the server, with this hook's URL and secret filled in."""

    id: str  # of the HTML element, for its copy button
    setting: Setting
    text: str


def pieces(kind: Kind, url: str, secret: str) -> list[Piece]:
    values = {"{url}": url, "{secret}": secret, "{api}": f"{settings.PUBLIC_URL}/api/v1"}
    rows = []
    for number, setting in enumerate(kind.settings, start=1):
        text = setting.text
        for name, value in values.items():
            text = text.replace(name, value)
        rows.append(Piece(f"piece-{number}", setting, text))
    return rows


def url_of(hook: Hook) -> str:
    return f"{settings.PUBLIC_URL}{hook.path}"


@member_required(can_read_technical_pages)
def hook_list(request: CabinetRequest) -> HttpResponse:
    rows = [Row(hook, hooks.kind_of(hook)) for hook in request.company.identity_hooks.all()]
    context = {
        "active": [row for row in rows if row.hook.is_active],
        "revoked": [row for row in rows if not row.hook.is_active],
        "kinds": list(kinds().values()),
        "limit": hooks.MAX_ACTIVE,
    }
    return render(request, "cabinet/hook_list.html", context)


@member_required(can_manage_keys, can_manage_keys)
def hook_create(request: CabinetRequest) -> HttpResponse:
    initial = {"kind": request.GET.get("kind", "")} | reauthentication.draft(request)
    form = NewHookForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        if form.cleaned_data["mode"] == Mode.LIVE:
            reauthentication.require(request, form)
        with refusals_on(form):
            hook, secret = hooks.create(
                company=request.company,
                kind=form.cleaned_data["kind"],
                mode=form.cleaned_data["mode"],
                values=form.values(),
                **request.actor,
            )
            return _show_once(request, hook, secret)
    return form_page(
        request, form, _("New connection"), verb=_("Create the connection"), back=_hook_list()
    )


@member_required(can_read_technical_pages)
def hook_detail(request: CabinetRequest, pk: int) -> HttpResponse:
    return _detail(request, get_object_or_404(request.company.identity_hooks, pk=pk), TrialForm())


def _detail(
    request: CabinetRequest,
    hook: Hook,
    form: TrialForm,
    result: TrialResult | None = None,
) -> HttpResponse:
    kind = hooks.kind_of(hook)
    calls = ApiRequest.objects.filter(
        company=request.company, mode=hook.mode, path=path_template(kind.name)
    )
    context = {
        "hook": hook,
        "kind": kind,
        "url": url_of(hook),
        "channels": [BY_NAME[name].title for name in hook.channels if name in BY_NAME],
        "pieces": pieces(kind, url_of(hook), HIDDEN_SECRET),
        "form": form,
        "result": result,
        "calls": list(calls.order_by("-created_at", "-id")[:LAST_CALLS]),
        "days": settings.REQUEST_LOG_DAYS,
    }
    return render(request, "cabinet/hook_detail.html", context)


@member_required(can_manage_keys, can_manage_keys)
def hook_edit(request: CabinetRequest, pk: int) -> HttpResponse:
    hook = _active(request, pk)
    kind = hooks.kind_of(hook)
    form = form_for(hook, kind, request.POST or None, reauthentication.draft(request))
    if request.method == "POST" and form.is_valid():
        if hook.mode == Mode.LIVE:
            reauthentication.require(request, form)
        hooks.change(hook=hook, values=form.cleaned_data, **request.actor)
        messages.success(request, _("Changes saved."))
        if not hooks.usable_secrets(hook):
            messages.warning(request, hooks.UNUSABLE)
        return redirect("hook-detail", hook.pk)
    return form_page(
        request, form, _("Change the connection"), verb=_("Save"), back=_hook_page(hook)
    )


@member_required(can_manage_keys, can_manage_keys)
def hook_rotate(request: CabinetRequest, pk: int) -> HttpResponse:
    hook = _active(request, pk)
    if hook.mode == Mode.LIVE:
        reauthentication.require(request)
    form = SecretForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with refusals_on(form):
            own_secret = form.cleaned_data["own_secret"]
            secret = hooks.rotate(hook=hook, own_secret=own_secret, **request.actor)
            if own_secret:
                messages.success(request, _("The server's secret is saved."))
                return redirect("hook-detail", hook.pk)
            return _show_once(request, hook, secret)
    lead = _(
        "For 24 hours calls with the old secret are accepted too, so you can switch the server "
        "without losing any."
    )
    return form_page(
        request, form, _("Replace the secret"), verb=_("Replace"), back=_hook_page(hook), lead=lead
    )


@member_required(can_manage_keys, can_manage_keys)
def hook_revoke(request: CabinetRequest, pk: int) -> HttpResponse:
    hook = _active(request, pk)
    if request.method == "POST":
        hooks.revoke(hook=hook, **request.actor)
        messages.success(request, _("The connection is revoked."))
        return redirect("hook-list")
    return confirm_page(
        request,
        _("Revoke the connection"),
        _("The server's calls will be refused at once: nobody gets a code through it any more."),
        verb=_("Revoke"),
        back=_hook_page(hook),
        subject=format_html("<strong>{}</strong>", hook.name),
        last_use=LastUse(_("Last used"), hook.last_used_at),
    )


@member_required(nobody, can_manage_keys)
def hook_try(request: CabinetRequest, pk: int) -> HttpResponse:
    hook = _active(request, pk)
    form = TrialForm(request.POST)
    result = None
    if form.is_valid():
        with refusals_on(form, "phone"):
            phone = form.cleaned_data["phone"]
            result = run_trial(hook=hook, phone=phone, **request.actor)
            hook.refresh_from_db(fields=["last_used_at"])
    return _detail(request, hook, form, result)


def _hook_list() -> PageLink:
    return PageLink(reverse("hook-list"), _("Identity servers"))


def _hook_page(hook: Hook) -> PageLink:
    return PageLink(reverse("hook-detail", args=[hook.pk]), hook.name)


def _active(request: CabinetRequest, pk: int) -> Hook:
    return get_object_or_404(request.company.identity_hooks.active(), pk=pk)


def _show_once(request: CabinetRequest, hook: Hook, secret: str) -> HttpResponse:
    # No redirect: the secret would have to be stored somewhere until the next request.
    kind = hooks.kind_of(hook)
    context = {
        "hook": hook,
        "kind": kind,
        "url": url_of(hook),
        "secret": secret,
        "pieces": pieces(kind, url_of(hook), secret),
    }
    return render(request, "cabinet/hook_secret.html", context)
