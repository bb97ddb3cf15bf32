"""The cabinet's pages about webhooks: endpoints, deliveries and examples."""

from collections.abc import Iterable
from typing import Any, cast

import orjson
from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.form_pages import (
    LastUse,
    PageLink,
    confirm_page,
    form_page,
    refusals_on,
    refusals_shown,
)
from accounts.models import Member, Mode, scopes_of_role
from accounts.people.cabinet_access import (
    CabinetRequest,
    can_manage_keys,
    can_read_technical_pages,
    member_required,
    nobody,
)
from accounts.people.phone_visibility import event_for
from accounts.security import reauthentication
from api.pagination import page_or_first
from catalogue.errors import DomainError
from catalogue.ids import parse_id
from parsing.form_fields import LineField
from parsing.stale_forms import RefusesStaleForm
from webhooks import deliveries, egress, endpoints, http_call
from webhooks.events import kinds_for
from webhooks.models import Delivery, Endpoint, Event, EventKind


def event_choices(kinds: Iterable[str] = EventKind.values) -> list[tuple[str, Any]]:
    """Event kinds as choices, with label and name."""
    return [(kind, f"{EventKind(kind).label}\u00a0· {kind}") for kind in kinds]


class EndpointForm(RefusesStaleForm, forms.Form):
    url = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=egress.MAX_URL_LENGTH,
        widget=forms.URLInput(
            attrs={"placeholder": "https://example.com/kvitok", "autocomplete": "off"}
        ),
        help_text=gettext_lazy(
            "Where events are sent: https, port 443 or 8443, open to the internet."
        ),
    )
    description = LineField(
        label=gettext_lazy("Description"),
        required=False,
        max_length=endpoints.DESCRIPTION_LENGTH,
        help_text=gettext_lazy("For your own reference: production site, staging…"),
    )
    kinds = forms.MultipleChoiceField(
        label=gettext_lazy("Events"),
        widget=forms.CheckboxSelectMultiple(attrs={"class": "form-check-input"}),
    )

    def __init__(self, *args: Any, role: str, stored: Iterable[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        allowed = {*kinds_for(scopes_of_role(role)), *stored}
        kinds = [kind for kind in EventKind.values if kind in allowed]
        field = cast("forms.MultipleChoiceField", self.fields["kinds"])
        field.choices = event_choices(kinds)
        field.initial = kinds

    def clean_url(self) -> str:
        try:
            return endpoints.check_url(self.cleaned_data["url"])
        except DomainError as error:
            raise ValidationError(error.texts) from None


class NewEndpointForm(EndpointForm):
    field_order = ("url", "description", "mode", "kinds")
    mode = forms.ChoiceField(
        label=gettext_lazy("Mode"),
        choices=[
            (Mode.LIVE, gettext_lazy("Live: what live keys send")),
            (Mode.TEST, gettext_lazy("Test: what test keys send, to try your receiver for free")),
        ],
        initial=Mode.LIVE,
        widget=forms.RadioSelect(attrs={"class": "form-check-input"}),
    )


class ExampleForm(forms.Form):
    kind = forms.ChoiceField(
        label=gettext_lazy("Event"), choices=[(kind, kind) for kind in EventKind.values]
    )


# Seconds between polls of a delivery's page.
QUICK_POLL = 2
SLOW_POLL = 15


@member_required(can_read_technical_pages)
def webhook_list(request: CabinetRequest) -> HttpResponse:
    endpoints = Endpoint.objects.for_company(request.company.pk).order_by("-created_at", "-id")
    context = {"endpoints": endpoints, "limit": settings.MAX_ENDPOINTS}
    return render(request, "cabinet/webhook_list.html", context)


@member_required(can_manage_keys, can_manage_keys)
def webhook_create(request: CabinetRequest) -> HttpResponse:
    form = NewEndpointForm(
        request.POST or None, role=request.member.role, initial=reauthentication.draft(request)
    )
    if request.method == "POST" and form.is_valid():
        if form.cleaned_data["mode"] == Mode.LIVE:
            reauthentication.require(request, form)
        with refusals_on(form):
            endpoint, secret = endpoints.create(
                company=request.company, **form.cleaned_data, **request.actor
            )
            return _show_once(request, endpoint, secret)
    back = PageLink(reverse("webhook-list"), _("Webhooks"))
    return form_page(request, form, _("New address"), verb=_("Add the address"), back=back)


@member_required(can_read_technical_pages)
def webhook_detail(request: CabinetRequest, public_id: str) -> HttpResponse:
    endpoint = _endpoint(request, public_id)
    only_failed = request.GET.get("state") == Delivery.State.FAILED
    context = {
        "endpoint": endpoint,
        "example": ExampleForm(),
        "only_failed": only_failed,
        "has_failed": deliveries.has_failed(endpoint),
        "page": page_or_first(
            deliveries.with_last_attempt(endpoint, only_failed=only_failed), request.GET
        ),
    }
    return render(request, "cabinet/webhook_detail.html", context)


@member_required(can_manage_keys, can_manage_keys)
def webhook_edit(request: CabinetRequest, public_id: str) -> HttpResponse:
    endpoint = _endpoint(request, public_id)
    current = {name: getattr(endpoint, name) for name in ("url", "kinds", "description")}
    form = EndpointForm(
        request.POST or None,
        role=request.member.role,
        stored=endpoint.kinds,
        initial=current | reauthentication.draft(request),
    )
    if request.method == "POST" and form.is_valid():
        if endpoint.mode == Mode.LIVE and form.cleaned_data["url"] != endpoint.url:
            reauthentication.require(request, form)
        with refusals_on(form):
            endpoints.change(
                endpoint=endpoint,
                changes=form.cleaned_data,
                scopes=scopes_of_role(request.member.role),
                **request.actor,
            )
            messages.success(request, _("Changes saved."))
            return redirect("webhook-detail", endpoint.public_id)
    note = _("The secret stays the same. Events on their way go to the new address.")
    return form_page(
        request, form, _("Change the address"), verb=_("Save"), back=_page_link(endpoint), note=note
    )


@member_required(nobody, can_manage_keys)
def webhook_switch(request: CabinetRequest, public_id: str) -> HttpResponse:
    """Enables or disables the endpoint, as the request says: a repeat changes nothing."""
    endpoint = _endpoint(request, public_id)
    if request.POST.get("to") == "on":
        endpoints.enable(endpoint=endpoint, **request.actor)
        messages.success(request, _("Events are sent to this address again."))
    else:
        endpoints.disable(endpoint=endpoint, **request.actor)
        messages.success(request, _("Nothing is sent to this address any more."))
    return redirect("webhook-detail", endpoint.public_id)


@member_required(can_manage_keys, can_manage_keys)
def webhook_rotate(request: CabinetRequest, public_id: str) -> HttpResponse:
    endpoint = _endpoint(request, public_id)
    if endpoint.mode == Mode.LIVE:
        reauthentication.require(request)
    if request.method == "POST":
        try:
            secret = endpoints.rotate(
                endpoint=endpoint, repeats_within=endpoints.REPEAT_WINDOW, **request.actor
            )
        except DomainError as error:
            messages.error(request, " ".join(error.texts))
            return redirect("webhook-detail", endpoint.public_id)
        return _show_once(request, endpoint, secret)
    already_rotating = _(
        "The secret is already being replaced. If you replace it again, the old ones keep "
        "signing until their day is over."
    )
    return confirm_page(
        request,
        _("Replace the secret"),
        _(
            "This creates a new secret. For 24 hours every event is signed with both, so you can "
            "switch your server without losing any."
        ),
        verb=_("Create the new secret"),
        back=_page_link(endpoint),
        subject=format_html("<strong>{}</strong>", endpoint.url),
        warning=already_rotating if endpoint.is_rotating else "",
        is_dangerous=False,
    )


@member_required(can_manage_keys, can_manage_keys)
def webhook_delete(request: CabinetRequest, public_id: str) -> HttpResponse:
    endpoint = _endpoint(request, public_id)
    if request.method == "POST":
        endpoints.delete(endpoint=endpoint, **request.actor)
        messages.success(request, _("The address is deleted."))
        return redirect("webhook-list")
    return confirm_page(
        request,
        _("Delete the address"),
        _(
            "Nothing more will be sent there, including events on their way, and its history can "
            "no longer be opened. To pause, switch the address off instead."
        ),
        verb=_("Delete"),
        back=_page_link(endpoint),
        subject=format_html("<strong>{}</strong>", endpoint.url),
        last_use=LastUse(_("Last accepted"), endpoint.last_success_at),
    )


@member_required(nobody, can_manage_keys)
def webhook_test(request: CabinetRequest, public_id: str) -> HttpResponse:
    endpoint = _endpoint(request, public_id)
    form = ExampleForm(request.POST)
    if not endpoint.is_enabled:
        messages.error(request, _("Switch the address on first."))
    elif form.is_valid():
        with refusals_shown(request):
            delivery = deliveries.send_example(endpoint=endpoint, kind=form.cleaned_data["kind"])
            return redirect("delivery-detail", delivery.public_id)
    return redirect("webhook-detail", endpoint.public_id)


@member_required(nobody, can_manage_keys)
def webhook_replay(request: CabinetRequest, public_id: str) -> HttpResponse:
    endpoint = _endpoint(request, public_id)
    if not endpoint.is_enabled:
        messages.error(request, _("Switch the address on first."))
        return redirect("webhook-detail", endpoint.public_id)
    with refusals_shown(request):
        count = deliveries.replay_failed(endpoint=endpoint, **request.actor)
        text = ngettext(
            "%(n)d delivery will be sent again.", "%(n)d deliveries will be sent again.", count
        )
        messages.success(request, text % {"n": count})
    return redirect("webhook-detail", endpoint.public_id)


@member_required(can_read_technical_pages)
def delivery_detail(request: CabinetRequest, public_id: str) -> HttpResponse:
    context = _delivery_context(_delivery(request, public_id), request.member)
    return render(request, "cabinet/delivery_detail.html", context)


@member_required(can_read_technical_pages)
def delivery_status(request: CabinetRequest, public_id: str) -> HttpResponse:
    """The fragment that the page polls until the delivery is final."""
    context = _delivery_context(_delivery(request, public_id), request.member)
    return render(request, "cabinet/delivery_status.html", context)


@member_required(nobody, can_manage_keys)
def delivery_replay(request: CabinetRequest, public_id: str) -> HttpResponse:
    delivery = _delivery(request, public_id)
    if delivery.endpoint.is_enabled:
        with refusals_shown(request):
            deliveries.replay(delivery=delivery, **request.actor)
            messages.success(request, _("The event will be sent again."))
    else:
        messages.error(request, _("Switch the address on first."))
    return redirect("delivery-detail", delivery.public_id)


def _page_link(endpoint: Endpoint) -> PageLink:
    return PageLink(reverse("webhook-detail", args=[endpoint.public_id]), endpoint.url)


def _endpoint(request: CabinetRequest, public_id: str) -> Endpoint:
    return get_object_or_404(
        Endpoint.objects.for_company(request.company.pk), pk=parse_id("whk", public_id)
    )


def _delivery(request: CabinetRequest, public_id: str) -> Delivery:
    return get_object_or_404(deliveries.of_company(request.company), pk=parse_id("dlv", public_id))


def _show_once(request: CabinetRequest, endpoint: Endpoint, secret: str) -> HttpResponse:
    # No redirect: the secret would have to be stored somewhere until the next request.
    context = {"endpoint": endpoint, "secret": secret}
    return render(request, "cabinet/webhook_secret.html", context)


def _delivery_context(delivery: Delivery, member: Member) -> dict[str, object]:
    event = delivery.event
    attempts = list(delivery.attempts.order_by("-started_at", "-id"))
    is_soon = delivery.due_in is not None and delivery.due_in <= settings.WEBHOOK_LEASE
    is_called = is_soon and delivery.tries > delivery.finished_tries(attempts)
    return {
        "section": "webhook",
        "delivery": delivery,
        "endpoint": delivery.endpoint,
        "event": event,
        "attempts": attempts,
        "body": _body_for(event, member),
        "is_called": is_called,
        "was_tried": bool(attempts) and not is_called,
        "is_open": delivery.state == Delivery.State.PENDING and delivery.endpoint.is_enabled,
        "poll_seconds": QUICK_POLL if is_soon else SLOW_POLL,
    }


def _body_for(event: Event, member: Member) -> str:
    if event.kind not in kinds_for(scopes_of_role(member.role)):
        return _("Your role sees no money, which this event is about.")
    data = event_for(event.data, member)
    body = orjson.loads(http_call.body_of(event.id, event.kind, event.at, data))
    return orjson.dumps(body, option=orjson.OPT_INDENT_2).decode()
