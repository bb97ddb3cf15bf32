"""The cabinet's pages about identity servers: the list, a socket with its settings, its secret."""

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
from accounts.masked_phones import mask_phone
from accounts.models import Mode, User
from accounts.people.pages import Back, confirm_page, form_page, refusals_on
from accounts.people.roles import (
    CabinetRequest,
    can_manage_keys,
    can_read_keys,
    member_required,
    nobody,
)
from accounts.security import reauthentication
from api.models import ApiRequest
from catalogue.channels import BY_NAME
from catalogue.errors import DomainError
from channels import phone_numbers
from identity_hooks import sockets
from identity_hooks.hook_call import SimulatedCall
from identity_hooks.kind import Kind, Setting, Trial
from identity_hooks.kinds import kinds
from identity_hooks.models import Socket
from identity_hooks.web.forms import NewSocketForm, SecretForm, TrialForm, form_for
from identity_hooks.web.hook_view import path_template, receive_call

LOOPBACK = "127.0.0.1"


class TrialResult(NamedTuple):
    body: str  # of the simulated call
    status: int
    answer: str
    is_sent: bool


def run_trial(*, socket: Socket, phone: str, user: User, ip: str | None = None) -> TrialResult:
    """Plays the server's own call, signed by the real secret, through the servers' view; raises a
    DomainError if `phone` is not a phone.
    """
    number = phone_numbers.normalise(phone, socket.company.country)
    kind = sockets.kind_of(socket)
    code = "".join(secrets.choice("0123456789") for _digit in range(socket.code_length))
    secret = sockets.secrets_of(socket)[0]
    simulated = kind.simulate(Trial(secret, number, code, time.time(), sockets.options_of(socket)))
    record(
        "socket.tried", f"{socket} {mask_phone(number)}", company=socket.company, user=user, ip=ip
    )
    response = receive_call(_request(socket, simulated), socket.kind, socket.url_id)
    answer = response.content.decode(errors="replace")
    is_sent = response.status_code < 300 and '"error"' not in answer
    return TrialResult(
        _pretty(simulated.body.decode()), response.status_code, _pretty(answer), is_sent
    )


def _request(socket: Socket, simulated: SimulatedCall) -> WSGIRequest:
    address = _address(socket)
    environ: dict[str, Any] = {
        f"HTTP_{name.upper().replace('-', '_')}": text for name, text in simulated.headers.items()
    }
    if count := settings.TRUSTED_PROXY_COUNT:  # as our own proxies would write it
        environ["HTTP_X_FORWARDED_FOR"] = ", ".join([address] * count)
    return WSGIRequest(
        environ
        | {
            "REQUEST_METHOD": simulated.method,
            "PATH_INFO": socket.path,
            "QUERY_STRING": simulated.query,
            "CONTENT_TYPE": environ.pop("HTTP_CONTENT_TYPE", ""),
            "CONTENT_LENGTH": str(len(simulated.body)),
            "REMOTE_ADDR": address,
            "wsgi.input": BytesIO(simulated.body),
        }
    )


def _address(socket: Socket) -> str:
    """One from which the server may call."""
    if not socket.allowed_ips:
        return LOOPBACK
    return str(ip_network(socket.allowed_ips[0], strict=False).network_address)


def _pretty(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text


HIDDEN_SECRET = "YOUR_SECRET"  # noqa: S105 - stands where the secret goes
LAST_CALLS = 10


class Row(NamedTuple):
    socket: Socket
    kind: Kind


class Piece(NamedTuple):
    """A setting of the server, with this socket's address and secret filled in."""

    id: str  # of the element, for the button that copies it
    setting: Setting
    text: str


def pieces(kind: Kind, url: str, secret: str) -> list[Piece]:
    values = {"{url}": url, "{secret}": secret, "{api}": f"{settings.PUBLIC_URL}/api/v1"}
    made = []
    for number, setting in enumerate(kind.settings, start=1):
        text = setting.text
        for name, value in values.items():
            text = text.replace(name, value)
        made.append(Piece(f"piece-{number}", setting, text))
    return made


def url_of(socket: Socket) -> str:
    return f"{settings.PUBLIC_URL}{socket.path}"


@member_required(can_read_keys)
def socket_list(request: CabinetRequest) -> HttpResponse:
    rows = [Row(socket, sockets.kind_of(socket)) for socket in request.company.sockets.all()]
    context = {
        "active": [row for row in rows if row.socket.is_active],
        "revoked": [row for row in rows if not row.socket.is_active],
        "kinds": list(kinds().values()),
        "limit": sockets.MAX_ACTIVE,
    }
    return render(request, "cabinet/socket_list.html", context)


@member_required(can_manage_keys, can_manage_keys)
def socket_create(request: CabinetRequest) -> HttpResponse:
    initial = {"kind": request.GET.get("kind", "")} | reauthentication.draft(request)
    form = NewSocketForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        if form.cleaned_data["mode"] == Mode.LIVE:
            reauthentication.require(request, form)
        with refusals_on(form):
            socket, secret = sockets.create(
                company=request.company,
                kind=form.cleaned_data["kind"],
                mode=form.cleaned_data["mode"],
                values=form.values(),
                **request.actor,
            )
            return _show_once(request, socket, secret)
    return form_page(
        request, form, _("New connection"), verb=_("Create the connection"), back=_list()
    )


@member_required(can_read_keys)
def socket_detail(request: CabinetRequest, pk: int) -> HttpResponse:
    return _detail(request, _socket(request, pk), TrialForm())


def _detail(
    request: CabinetRequest,
    socket: Socket,
    form: TrialForm,
    result: TrialResult | None = None,
) -> HttpResponse:
    kind = sockets.kind_of(socket)
    calls = ApiRequest.objects.filter(
        company=request.company, mode=socket.mode, path=path_template(kind.name)
    )
    context = {
        "socket": socket,
        "kind": kind,
        "url": url_of(socket),
        "channels": [BY_NAME[name].title for name in socket.channels if name in BY_NAME],
        "pieces": pieces(kind, url_of(socket), HIDDEN_SECRET),
        "form": form,
        "result": result,
        "calls": list(calls.order_by("-created_at", "-id")[:LAST_CALLS]),
        "days": settings.REQUEST_LOG_DAYS,
    }
    return render(request, "cabinet/socket_detail.html", context)


@member_required(can_manage_keys, can_manage_keys)
def socket_edit(request: CabinetRequest, pk: int) -> HttpResponse:
    socket = _active(request, pk)
    kind = sockets.kind_of(socket)
    form = form_for(socket, kind, request.POST or None, reauthentication.draft(request))
    if request.method == "POST" and form.is_valid():
        if socket.mode == Mode.LIVE:
            reauthentication.require(request, form)
        sockets.change(socket=socket, values=form.cleaned_data, **request.actor)
        messages.success(request, _("Changes saved."))
        return redirect("socket-detail", socket.pk)
    return form_page(request, form, _("Change the connection"), verb=_("Save"), back=_to(socket))


@member_required(can_manage_keys, can_manage_keys)
def socket_rotate(request: CabinetRequest, pk: int) -> HttpResponse:
    socket = _active(request, pk)
    if socket.mode == Mode.LIVE:
        reauthentication.require(request)
    form = SecretForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with refusals_on(form):
            own_secret = form.cleaned_data["own_secret"]
            secret = sockets.rotate(socket=socket, own_secret=own_secret, **request.actor)
            if own_secret:
                messages.success(request, _("The server's secret is saved."))
                return redirect("socket-detail", socket.pk)
            return _show_once(request, socket, secret)
    lead = _(
        "For 24 hours calls with the old secret are accepted too, so you can switch the server "
        "without losing any."
    )
    return form_page(
        request, form, _("Replace the secret"), verb=_("Replace"), back=_to(socket), lead=lead
    )


@member_required(can_manage_keys, can_manage_keys)
def socket_revoke(request: CabinetRequest, pk: int) -> HttpResponse:
    socket = _active(request, pk)
    if request.method == "POST":
        sockets.revoke(socket=socket, **request.actor)
        messages.success(request, _("The connection is revoked."))
        return redirect("socket-list")
    return confirm_page(
        request,
        _("Revoke the connection"),
        _("The server's calls will be refused at once: nobody gets a code through it any more."),
        verb=_("Revoke"),
        back=_to(socket),
        subject=format_html("<strong>{}</strong>", socket.name),
        last=(_("Last used"), socket.last_used_at),
    )


@member_required(nobody, can_manage_keys)
def socket_try(request: CabinetRequest, pk: int) -> HttpResponse:
    socket = _active(request, pk)
    form = TrialForm(request.POST)
    result = None
    if form.is_valid():
        try:
            phone = form.cleaned_data["phone"]
            result = run_trial(socket=socket, phone=phone, **request.actor)
            socket.refresh_from_db(fields=["last_used_at"])
        except DomainError as refused:
            form.add_error("phone", refused.words)
    return _detail(request, socket, form, result)


def _list() -> Back:
    return reverse("socket-list"), _("Identity servers")


def _to(socket: Socket) -> Back:
    return reverse("socket-detail", args=[socket.pk]), socket.name


def _socket(request: CabinetRequest, pk: int) -> Socket:
    return get_object_or_404(request.company.sockets, pk=pk)


def _active(request: CabinetRequest, pk: int) -> Socket:
    return get_object_or_404(request.company.sockets.active(), pk=pk)


def _show_once(request: CabinetRequest, socket: Socket, secret: str) -> HttpResponse:
    # No redirect: the secret would have to be stored somewhere until the next request.
    kind = sockets.kind_of(socket)
    context = {
        "socket": socket,
        "kind": kind,
        "url": url_of(socket),
        "secret": secret,
        "pieces": pieces(kind, url_of(socket), secret),
    }
    return render(request, "cabinet/socket_secret.html", context)
