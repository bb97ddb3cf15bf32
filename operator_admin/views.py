"""The admin's own pages: queue, trials, system, alerts, items that wait, one person's data."""

import re
from datetime import timedelta
from typing import Any
from uuid import UUID

import orjson
from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import connection, transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from catalogue.errors import AfterEffectError, DomainError
from catalogue.ids import parse_id
from catalogue.languages import message_languages, page_languages
from channels.vendor_accounts import error_texts, operator_mail
from links.clicks import stream
from operator_admin import attention, doctor, figures
from operator_admin.alerts import notifications
from operator_admin.alerts.rules import RULES, Rule
from operator_admin.model_pages.bases import actor
from operator_admin.models import Alert, TelegramNotice
from operator_admin.site import page, page_context, page_response
from operator_admin.vendors import trial_message
from parsing.integers import parse_page
from persons.erasure import NotFinishedError, erase
from persons.export import export
from persons.person import Person, find_rows_and_links, lift_timeout, parse_phone

PLACEHOLDER = re.compile(r"%\(\w+\)s")  # for a detail of an alert
# The ended alerts that are shown.
ENDED_WITHIN = timedelta(days=7)
MAX_ENDED = 100


class TrialMessageForm(forms.Form):
    phone = forms.CharField(
        label=gettext_lazy("Your phone"), max_length=64, widget=forms.TextInput({"type": "tel"})
    )
    locale = forms.ChoiceField(
        label=gettext_lazy("Text language"), choices=message_languages.grouped_choices
    )


@page("queue/", "queue", "channels.message")
def queue(request: HttpRequest) -> HttpResponse:
    context: dict[str, object] = {
        "queue": figures.queue(),
        "clicks": stream.lag_seconds(),
        "heartbeats": figures.heartbeats(),
        "late": figures.ALIVE_SECONDS,
    }
    return page_response(request, "queue", gettext_lazy("Queue"), context)


@page("providers/<str:name>/trial/", "trial")
def send_trial(request: HttpRequest, name: str) -> HttpResponse:
    """Sends one real message to the operator's own phone through the normal send path."""
    trial = trial_message.trial_for(name)
    if trial is None:
        raise Http404
    if not request.user.has_perm("billing.add_transfer"):  # it gives tokens to its own company
        raise PermissionDenied
    form = TrialMessageForm(request.POST or None, initial={"locale": page_languages.active()})
    if form.is_valid() and (response := _send(request, trial, form)) is not None:
        return response
    title = error_texts.provider_title(name)
    context = {"form": form, "trial": trial, "price": settings.PRICES[trial.channel.name]}
    return page_response(request, "trial", title, context)


def _send(
    request: HttpRequest, trial: trial_message.TrialMessage, form: TrialMessageForm
) -> HttpResponse | None:
    """Redirects to the message's page; returns None if nothing was sent."""
    try:
        message_id = trial_message.send_trial(
            trial=trial,
            phone=form.cleaned_data["phone"],
            locale=form.cleaned_data["locale"],
            **actor(request),
        )
    except AfterEffectError as error:
        messages.error(request, str(error.error.message))
        return _to_message(parse_id("msg", error.extra["id"]))
    except DomainError as error:
        form.add_error(None, str(error.error.message))
        return None
    messages.success(request, _("Sent. See the result below."))
    return _to_message(message_id)


def _to_message(message_id: UUID | None) -> HttpResponse:
    return redirect("admin:channels_message_change", message_id)


@page("system/", "system", "operator_admin.alert")
def system(request: HttpRequest) -> HttpResponse:
    findings = list(doctor.run_checks())
    context = {"findings": findings, "crosses": sum(not finding.ok for finding in findings)}
    return page_response(request, "system", gettext_lazy("System"), context)


def describe(name: str, rule: Rule) -> dict[str, str | int]:
    """The texts' values for a rule without an alert: placeholders instead of details."""
    return {
        "name": name,
        "title": PLACEHOLDER.sub("…", str(rule.title)),
        "remedy": PLACEHOLDER.sub(_("as the doctor says"), str(rule.remedy)),
        "minutes": int(rule.pending.total_seconds() // 60),
    }


@page("alerts/", "alerts", "operator_admin.alert")
def alerts(request: HttpRequest) -> HttpResponse:
    firing = Alert.objects.firing().order_by("-began_at")
    ended = Alert.objects.filter(ended_at__gte=timezone.now() - ENDED_WITHIN, rule__in=RULES)
    refused = TelegramNotice.objects.exclude(error="").order_by("-pk").first()
    context = {
        "firing": [notifications.text_of(alert) for alert in firing if alert.rule in RULES],
        "ended": [
            notifications.text_of(alert) for alert in ended.order_by("-ended_at")[:MAX_ENDED]
        ],
        "telegram_error": refused.error if refused else "",
        "addresses": [address for address, _language in operator_mail.recipients()],
        "chat": settings.OPERATOR_TELEGRAM_CHAT_ID if notifications.chat() else "",
        "muted": sorted(settings.OPERATOR_MUTED_ALERTS),
        "rules": [describe(name, rule) for name, rule in RULES.items()],
    }
    return page_response(request, "alerts", gettext_lazy("Alerts"), context)


@page("attention/", "attention")
def waiting(request: HttpRequest) -> HttpResponse:
    allowed = attention.kinds_for(request)
    kind_name = request.GET.get("kind", "")
    number = parse_page(request.GET.get("page", ""))
    page = attention.page([kind_name] if kind_name in allowed else allowed, number)
    counts = attention.counts(allowed)
    context = {
        **page_context("items", page, number, attention.PAGE_SIZE),
        "counts": counts,
        "total": sum(count.number for count in counts),
        "kind": kind_name if kind_name in allowed else "",
    }
    return page_response(request, "attention", gettext_lazy("Needs attention"), context)


class PersonForm(forms.Form):
    phone = forms.CharField(
        label=gettext_lazy("Phone"),
        max_length=40,
        help_text=gettext_lazy("In any format, such as +79161234567."),
        widget=forms.TextInput({"type": "tel", "autocomplete": "off"}),
    )

    def clean_phone(self) -> str:
        phone = parse_phone(self.cleaned_data["phone"])
        if phone is None:
            raise forms.ValidationError(_("This is not a phone number."))
        return phone


@page("persons/", "persons", permission="persons.add_erasure")
def persons(request: HttpRequest) -> HttpResponse:
    """Exports or erases a person's data; the phone is only in the body, since URLs are logged."""
    form = PersonForm(request.POST or None)
    if not form.is_valid():
        return _show(request, "persons", {"form": form})
    person = Person(form.cleaned_data["phone"])
    if "export" in request.POST:
        exported = export(person=person, **actor(request))
        text = orjson.dumps(exported, option=orjson.OPT_INDENT_2 | orjson.OPT_UTC_Z)
        headers = {"Content-Disposition": 'attachment; filename="person.json"'}
        return HttpResponse(text, content_type="application/json", headers=headers)
    if "confirmed" in request.POST and _erase(request, person, form):
        return redirect("admin:persons")
    if "erase" in request.POST:
        return _show(request, "person_erase", {"form": form, **_data_counts(person)})
    return _show(request, "persons", {"form": form})


@transaction.atomic
def _data_counts(person: Person) -> dict[str, Any]:
    with connection.cursor() as cursor:
        lift_timeout(cursor)
        rows = find_rows_and_links(cursor, person)
    counts = {"sent": len(rows.messages), "links": len(rows.links)}
    return {"phone": person.phone, "companies": len(rows.companies), **counts}


def _erase(request: HttpRequest, person: Person, form: PersonForm) -> bool:
    try:
        erase(person=person, **actor(request))
    except NotFinishedError as busy:
        until = date_format(timezone.localtime(busy.until), "SHORT_DATETIME_FORMAT")
        form.add_error(
            "phone",
            _("A message is still open or a code can be entered. Try again after %(until)s.")
            % {"until": until},
        )
        return False
    messages.success(request, _("Everything about this number was erased."))
    return True


def _show(request: HttpRequest, template: str, context: dict[str, object]) -> HttpResponse:
    return page_response(request, template, _("Personal data"), context)
