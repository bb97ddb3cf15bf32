"""The cabinet's pages and forms for a company's own texts and autofill lines."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.form_pages import PageLink, confirm_page, refusals_on
from accounts.keys.principal import CompanyTexts
from accounts.people.cabinet_access import (
    CabinetRequest,
    can_change_settings,
    can_read_settings,
    member_required,
)
from cabinet.forms import PurposeField
from catalogue.channels import Channel, join_titles
from catalogue.languages import message_languages, page_languages
from channels.vendor_accounts import registry
from channels.web.fields import DEFAULT_PURPOSE
from otp.models import CodeText
from otp.texts import own_texts, rules
from otp.texts.own_texts import SEGMENTED, WORDED
from otp.web.previews import current_samples, samples, with_variables
from parsing.characters import normalised
from parsing.form_fields import LineField
from parsing.stale_forms import RefusesStaleForm


class TextForm(RefusesStaleForm, forms.Form):
    body = forms.CharField(
        label=_("Text"),
        max_length=CodeText.MAX_LENGTH,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 4, "autocomplete": "off", "dir": "auto"}),
    )
    locale = forms.ChoiceField(label=_("Language"), choices=message_languages.grouped_choices)
    channel = forms.ChoiceField(
        label=_("Channel"),
        required=False,
        choices=lambda: [("", join_titles(WORDED)), *((item.name, item.title) for item in WORDED)],
    )
    purpose = PurposeField(
        help_text=_(
            "As your requests name it, or <code>verification</code> if they do not. Leave "
            "empty for every purpose without a text of its own."
        )
    )
    normalised_body = ""  # set once the text is valid

    def __init__(self, *args: Any, tail: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.tail = tail
        self.fields["body"].widget.attrs["lang"] = self.language

    def clean_body(self) -> str:
        body = normalised(self.cleaned_data["body"])
        rules.check(body)
        self.normalised_body = body
        return body

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if self.normalised_body and cleaned.get("channel") in SEGMENTED:
            try:
                rules.check_length(self.normalised_body, self.tail)
            except ValidationError as error:
                self.add_error("body", error)
        return cleaned

    @property
    def channels(self) -> list[Channel]:
        """The channels whose previews are shown."""
        channel_name = self["channel"].value()
        return [channel for channel in WORDED if channel.name == channel_name] or WORDED

    @property
    def language(self) -> str:
        locale = self["locale"].value()
        return str(locale if locale in message_languages.codes() else page_languages.codes()[0])


class AutofillForm(RefusesStaleForm, forms.Form):
    webotp_host = forms.CharField(
        label=_("Site where the code is entered"),
        required=False,
        widget=forms.TextInput(
            attrs={"placeholder": "example.com", "autocomplete": "off", "spellcheck": "false"}
        ),
        help_text=_(
            "The last line of an SMS becomes <code>@example.com #123456</code>: Safari and Chrome "
            "offer the code on this site and on no other."
        ),
    )
    app_hash = LineField(
        label=_("Hash of the Android app"),
        required=False,
        widget=forms.TextInput(
            attrs={"placeholder": "FA+9qCX9VSu", "autocomplete": "off", "spellcheck": "false"}
        ),
        help_text=_(
            "Eleven characters by which Android hands the SMS to your app, without asking for "
            "access to messages. Only an SMS of one part is handed over."
        ),
    )

    def clean_webotp_host(self) -> str:
        host = self.cleaned_data["webotp_host"]
        return rules.check_host(host) if host else ""

    def clean_app_hash(self) -> str:
        app_hash = self.cleaned_data["app_hash"]
        return rules.check_hash(app_hash) if app_hash else ""


@member_required(can_read_settings)
def text_list(request: CabinetRequest) -> HttpResponse:
    texts = own_texts.of_company(request.company)
    tail = own_texts.autofill_lines(texts)
    rows = request.company.code_texts.order_by("purpose", "channel", "locale")
    context = {
        "rows": [(text, _max_segments(text, tail)) for text in rows],
        "channels_with_text": join_titles(own_texts.WORDED),
        "limit": own_texts.MAX_TEXTS,
        "own": texts,
        "standard": _default_texts(request.company.language),
        "samples": current_samples(request.company, texts)[:1],
        "by_gateway": registry.codes_go_by_gateway(),
    }
    return render(request, "cabinet/text_list.html", context)


def _default_texts(language: str) -> list[tuple[str, str, str]]:
    """The default text in each language, the company's first: tag, name and text."""
    choices = sorted(message_languages.choices(), key=lambda choice: choice[0] != language)
    return [(code, name, message_languages.texts(code)["code"]) for code, name in choices]


def _max_segments(text: CodeText, tail: Sequence[str]) -> int | None:
    """The maximum number of segments; None for a channel without segments."""
    return rules.max_segments(text.body, tail) if text.channel in own_texts.SEGMENTED else None


@member_required(can_change_settings, can_change_settings)
def text_create(request: CabinetRequest) -> HttpResponse:
    return _edit(request, CodeText(locale=request.company.language))


@member_required(can_change_settings, can_change_settings)
def text_edit(request: CabinetRequest, pk: int) -> HttpResponse:
    return _edit(request, _code_text_or_404(request, pk))


def _edit(request: CabinetRequest, text: CodeText) -> HttpResponse:
    texts = own_texts.of_company(request.company)
    now = {name: getattr(text, name) for name in ("body", "locale", "channel", "purpose")}
    now["body"] = now["body"] or message_languages.texts(text.locale)["code"]
    form = TextForm(request.POST or None, initial=now, tail=own_texts.autofill_lines(texts))
    if form.is_valid() and _is_submit(request):
        for name, value in form.cleaned_data.items():
            setattr(text, name, value)
        with refusals_on(form):
            own_texts.save(company=request.company, text=text, **request.actor)
            messages.success(request, gettext("Text saved: new codes will use it."))
            return redirect("text-list")
    context = {
        "form": form,
        "text": text,
        "title": gettext("Change the text") if text.pk else gettext("New text"),
        "preview": reverse("text-preview"),
        **_previews(request, texts, form),
    }
    return render(request, "cabinet/text_form.html", context)


@member_required(can_change_settings, can_change_settings)
def text_delete(request: CabinetRequest, pk: int) -> HttpResponse:
    text = _code_text_or_404(request, pk)
    if request.method == "POST":
        own_texts.delete(text=text, **request.actor)
        messages.success(request, gettext("Text deleted."))
        return redirect("text-list")
    return confirm_page(
        request,
        gettext("Delete the text"),
        gettext(
            "New codes will use the next text that matches, or the standard wording. Messages on "
            "their way keep this one."
        ),
        verb=gettext("Delete"),
        back=PageLink(reverse("text-list"), gettext("Texts")),
        subject=format_html(
            '<div class="bubble bubble-text" lang="{}">{}</div>',
            text.locale,
            with_variables(text.body),
        ),
        styles=["phones.css", "texts.css"],
    )


@member_required(can_read_settings)
def text_preview(request: CabinetRequest) -> HttpResponse:
    """Previews an unsaved text as phones would show it."""
    texts = own_texts.of_company(request.company)
    form = TextForm(request.GET, tail=own_texts.autofill_lines(texts))
    form.is_valid()
    context = {"faults": form.errors.get("body"), **_previews(request, texts, form)}
    return render(request, "cabinet/text_preview.html", context)


def _previews(request: CabinetRequest, texts: CompanyTexts, form: TextForm) -> dict[str, Any]:
    body = form.normalised_body if form.is_bound else form["body"].value()
    if not body:
        return {"samples": []}
    return {
        "samples": samples(
            request.company,
            texts,
            channels=form.channels,
            locale=form.language,
            purpose=str(form["purpose"].value() or DEFAULT_PURPOSE),
            body=body,
        )
    }


@member_required(can_change_settings, can_change_settings)
def autofill_edit(request: CabinetRequest) -> HttpResponse:
    texts = own_texts.of_company(request.company)
    now = {"webotp_host": texts.webotp_host, "app_hash": texts.app_hash}
    form = AutofillForm(request.POST or None, initial=now)
    if form.is_valid() and _is_submit(request):
        with refusals_on(form):
            own_texts.set_autofill(company=request.company, **form.cleaned_data, **request.actor)
            messages.success(request, gettext("Autofill lines saved."))
            return redirect("text-list")
    context = {
        "form": form,
        "text": None,
        "samples": _sms_samples(request, texts, form),
        "title": gettext("Autofill from SMS"),
        "preview": reverse("autofill-preview"),
    }
    return render(request, "cabinet/text_form.html", context)


@member_required(can_read_settings)
def autofill_preview(request: CabinetRequest) -> HttpResponse:
    texts = own_texts.of_company(request.company)
    form = AutofillForm(request.GET)
    faults = [fault for field_errors in form.errors.values() for fault in field_errors]
    context = {"faults": faults, "samples": _sms_samples(request, texts, form)}
    return render(request, "cabinet/text_preview.html", context)


def _sms_samples(request: CabinetRequest, texts: CompanyTexts, form: AutofillForm) -> list[Any]:
    if form.is_bound:
        if not form.is_valid():
            return []
        texts = texts._replace(**form.cleaned_data)
    return current_samples(request.company, texts)


def _is_submit(request: CabinetRequest) -> bool:
    """Whether the form was submitted, and not its button that requests a preview."""
    return request.method == "POST" and "preview" not in request.POST


def _code_text_or_404(request: CabinetRequest, pk: int) -> CodeText:
    return get_object_or_404(request.company.code_texts, pk=pk)
