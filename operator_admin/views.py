"""The admin's own pages: the queue, trial messages, the state of the system."""

from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.client_ip import client_ip
from accounts.model_admin.admin import operator
from channels.vendor_accounts import error_texts
from config.errors import AfterEffectError, DomainError
from config.ids import parse_id
from links.clicks import stream
from operator_admin import doctor
from operator_admin.metrics import figures
from operator_admin.site import page
from operator_admin.vendors import trial_message


class TrialMessageForm(forms.Form):
    phone = forms.CharField(
        label=gettext_lazy("Your phone"), max_length=64, widget=forms.TextInput({"type": "tel"})
    )
    locale = forms.ChoiceField(
        label=gettext_lazy("Language of the text"), choices=[("ru", "Русский"), ("en", "English")]
    )


@page("queue/", "queue")
def queue(request: HttpRequest) -> HttpResponse:
    context: dict[str, object] = {
        "queue": figures.queue(),
        "clicks": stream.lag_seconds(),
        "heartbeats": figures.heartbeats(),
        "late": figures.ALIVE_SECONDS,
    }
    return _page(request, "operator_admin/queue.html", gettext_lazy("Queue"), context)


@page("providers/<str:name>/trial/", "trial")
def send_trial(request: HttpRequest, name: str) -> HttpResponse:
    """Sends one real message to the operator's own phone by the ordinary send path."""
    trial = trial_message.trial_for(name)
    if trial is None:
        raise Http404
    if not _can_send_trial(request):
        raise PermissionDenied
    form = TrialMessageForm(request.POST or None, initial={"locale": "ru"})
    if form.is_valid() and (response := _send(request, trial, form)) is not None:
        return response
    title = error_texts.provider_title(name)
    context = {"form": form, "trial": trial, "price": settings.PRICES[trial.channel.name]}
    return _page(request, "operator_admin/trial.html", title, context)


def _send(
    request: HttpRequest, trial: trial_message.TrialMessage, form: TrialMessageForm
) -> HttpResponse | None:
    """Redirects to the message's page; returns None if nothing was sent."""
    try:
        message_id = trial_message.send_trial(
            trial=trial,
            phone=form.cleaned_data["phone"],
            locale=form.cleaned_data["locale"],
            user=operator(request),
            ip=client_ip(request.META),
        )
    except AfterEffectError as refused:
        messages.error(request, str(refused.error.message))
        return _to_message(parse_id("msg", refused.extra["id"]))
    except DomainError as refused:
        form.add_error(None, str(refused.error.message))
        return None
    messages.success(request, _("Sent. See the result below."))
    return _to_message(message_id)


def _to_message(message_id: UUID | None) -> HttpResponse:
    return HttpResponseRedirect(reverse("admin:channels_message_change", args=[message_id]))


@page("system/", "system")
def system(request: HttpRequest) -> HttpResponse:
    findings = list(doctor.run_checks())
    context = {"findings": findings, "crosses": sum(not finding.ok for finding in findings)}
    return _page(request, "operator_admin/system.html", gettext_lazy("System"), context)


def _can_send_trial(request: HttpRequest) -> bool:
    return request.user.has_perm("billing.add_transfer")  # a trial grants tokens to its own company


def _page(
    request: HttpRequest, template: str, title: object, context: dict[str, object]
) -> HttpResponse:
    return TemplateResponse(
        request, template, {**admin.site.each_context(request), "title": title, **context}
    )
