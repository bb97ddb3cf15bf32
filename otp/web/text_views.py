"""The cabinet's pages about a company's own texts and the autofill lines."""

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _

from accounts.client_ip import client_ip
from accounts.keys.company_texts import CompanyTexts
from accounts.people.roles import (
    CabinetRequest,
    can_change_settings,
    can_read_settings,
    member_required,
)
from channels.vendor_accounts import registry
from config.channels import join_titles
from otp.models import CodeText
from otp.texts import own_texts, rendering, rules
from otp.web.calls import DEFAULT_PURPOSE
from otp.web.previews import current_samples, samples
from otp.web.text_forms import AutofillForm, TextForm


@member_required(can_read_settings)
def text_list(request: CabinetRequest) -> HttpResponse:
    own = own_texts.of_company(request.company)
    tail = rendering.autofill_lines(own)
    rows = request.company.code_texts.order_by("purpose", "channel", "locale")
    context = {
        "rows": [(text, _max_segments(text, tail)) for text in rows],
        "worded": join_titles(own_texts.WORDED),
        "limit": own_texts.MAX_TEXTS,
        "own": own,
        "standard": rendering.TEXTS.items(),
        "samples": current_samples(request.company, own)[:1],
        "by_gateway": registry.codes_go_by_gateway(),
    }
    return render(request, "cabinet/text_list.html", context)


def _max_segments(text: CodeText, tail: Sequence[str]) -> int | None:
    """None for a channel that has no segments."""
    return rules.max_segments(text.body, tail) if text.channel in own_texts.SEGMENTED else None


@member_required(can_change_settings, can_change_settings)
def text_create(request: CabinetRequest) -> HttpResponse:
    return _edit(request, CodeText(locale=request.company.language))


@member_required(can_change_settings, can_change_settings)
def text_edit(request: CabinetRequest, pk: int) -> HttpResponse:
    return _edit(request, _text(request, pk))


def _edit(request: CabinetRequest, text: CodeText) -> HttpResponse:
    own = own_texts.of_company(request.company)
    now = {name: getattr(text, name) for name in ("body", "locale", "channel", "purpose")}
    now["body"] = now["body"] or rendering.TEXTS[text.locale]
    form = TextForm(request.POST or None, initial=now, tail=rendering.autofill_lines(own))
    if form.is_valid() and _is_submit(request):
        for name, value in form.cleaned_data.items():
            setattr(text, name, value)
        try:
            own_texts.save(company=request.company, text=text, **_actor(request))
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(request, _("Text saved: new codes will use it."))
            return redirect("text-list")
    context = {"form": form, "text": text, **_preview_context(request, own, form)}
    return render(request, "cabinet/text_form.html", context)


@member_required(can_change_settings, can_change_settings)
def text_delete(request: CabinetRequest, pk: int) -> HttpResponse:
    text = _text(request, pk)
    if request.method == "POST":
        own_texts.delete(text=text, **_actor(request))
        messages.success(request, _("Text deleted."))
        return redirect("text-list")
    return render(request, "cabinet/text_delete.html", {"text": text})


@member_required(can_read_settings)
def text_preview(request: CabinetRequest) -> HttpResponse:
    """Previews unsaved text as phones would show it."""
    own = own_texts.of_company(request.company)
    form = TextForm(request.GET, tail=rendering.autofill_lines(own))
    form.is_valid()
    context = {"faults": form.errors.get("body"), **_preview_context(request, own, form)}
    return render(request, "cabinet/text_preview.html", context)


def _preview_context(request: CabinetRequest, own: CompanyTexts, form: TextForm) -> dict[str, Any]:
    body = form.normalised_body if form.is_bound else form["body"].value()
    if not body:
        return {"samples": []}
    return {
        "samples": samples(
            request.company,
            own,
            channels=form.channels,
            locale=form.language,
            purpose=str(form["purpose"].value() or DEFAULT_PURPOSE),
            body=body,
        )
    }


@member_required(can_change_settings, can_change_settings)
def autofill_edit(request: CabinetRequest) -> HttpResponse:
    own = own_texts.of_company(request.company)
    now = {"webotp_host": own.webotp_host, "app_hash": own.app_hash}
    form = AutofillForm(request.POST or None, initial=now)
    if form.is_valid() and _is_submit(request):
        try:
            own_texts.set_autofill(company=request.company, **form.cleaned_data, **_actor(request))
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(request, _("Autofill lines saved."))
            return redirect("text-list")
    context = {"form": form, "samples": _autofill_samples(request, own, form)}
    return render(request, "cabinet/autofill_edit.html", context)


@member_required(can_read_settings)
def autofill_preview(request: CabinetRequest) -> HttpResponse:
    own, form = own_texts.of_company(request.company), AutofillForm(request.GET)
    faults = [fault for several in form.errors.values() for fault in several]
    context = {"faults": faults, "samples": _autofill_samples(request, own, form)}
    return render(request, "cabinet/text_preview.html", context)


def _autofill_samples(request: CabinetRequest, own: CompanyTexts, form: AutofillForm) -> list[Any]:
    if form.is_bound:
        if not form.is_valid():
            return []
        own = own._replace(**form.cleaned_data)
    return current_samples(request.company, own)


def _is_submit(request: CabinetRequest) -> bool:
    """Without JavaScript a button of the same form requests the preview."""
    return request.method == "POST" and "preview" not in request.POST


def _actor(request: CabinetRequest) -> dict[str, Any]:
    return {"user": request.user, "ip": client_ip(request.META)}


def _text(request: CabinetRequest, pk: int) -> CodeText:
    return get_object_or_404(request.company.code_texts, pk=pk)
