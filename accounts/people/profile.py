"""A person's own settings: name, language, time zone, shortcuts, e-mails switched off."""

from typing import Any

from allauth.core.ratelimit import respond_429
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from accounts.audit import record
from accounts.form_pages import form_page
from accounts.models import User
from accounts.outbox.mail import NoticeKind, mute, read_unsubscribe_token
from accounts.people import time_zones
from accounts.security.change_limit import exceeds_change_limit
from accounts.sign_in.adapter import remember_language
from parsing.stale_forms import RefusesStaleForm
from processes.server.client_ip import client_ip


class ProfileForm(RefusesStaleForm, forms.ModelForm):  # type: ignore[type-arg]
    time_zone = forms.ChoiceField(
        label=gettext_lazy("Time zone"),
        required=False,
        help_text=gettext_lazy(
            "The cabinet shows times in this zone. Days in filters, charts and statements are "
            "counted in the service's time zone."
        ),
    )

    notices = forms.MultipleChoiceField(
        label=gettext_lazy("E-mails to you"),
        required=False,
        choices=NoticeKind.choices,
        widget=forms.CheckboxSelectMultiple(attrs={"class": "form-check-input"}),
        help_text=gettext_lazy(
            "From those that your role in a company gets. E-mails about the security of your "
            "account and the state of a company are always sent."
        ),
    )

    class Meta:
        model = User
        fields = ("name", "language", "time_zone", "notices", "has_shortcuts")
        labels = {
            "name": gettext_lazy("Your name"),
            "language": gettext_lazy("Language of the cabinet and of e-mails to you"),
            "has_shortcuts": gettext_lazy("Single-key shortcuts"),
        }
        help_texts = {
            "name": gettext_lazy("As colleagues see it in the list of members."),
            "has_shortcuts": gettext_lazy(
                "Switch them off if you dictate to your computer or press keys by accident."
            ),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        muted = self.instance.muted_notices
        self.initial["notices"] = [kind for kind in NoticeKind.values if kind not in muted]
        field = self.fields["time_zone"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - declared above
        field.choices = [("", _service_zone()), *self._choices()]

    def _choices(self) -> list[tuple[str, str]]:
        zones = time_zones.choices(timezone.now(), get_language() or settings.LANGUAGE_CODE)
        zone = self.instance.time_zone
        if zone and zone not in dict(zones):  # chosen before the time zone data dropped it
            zones.insert(0, (zone, zone))
        return zones

    def save(self, commit: bool = True) -> User:
        notices = self.cleaned_data["notices"]
        self.instance.muted_notices = [kind for kind in NoticeKind.values if kind not in notices]
        user: User = super().save(commit)
        return user


def _service_zone() -> str:
    city = time_zones.city_of(settings.TIME_ZONE, get_language() or settings.LANGUAGE_CODE)
    return gettext_lazy("The service's: %(place)s") % {"place": city}


@login_required
def profile(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)  # noqa: S101 - behind login_required
    # Limited because muting by a link is recorded, and can be undone here each time.
    if request.method == "POST" and exceeds_change_limit(request.user):
        return respond_429(request)
    form = ProfileForm(request.POST or None, instance=request.user)
    if request.method != "POST" or not form.is_valid():
        return form_page(request, form, _("Profile"), verb=_("Save"))
    user = form.save()
    with translation.override(user.language):  # the next page is in it
        messages.success(request, _("Saved."))
    response = redirect("profile")
    remember_language(response, user.language)
    return response


@require_http_methods(["GET", "HEAD", "POST"])
@csrf_exempt  # RFC 8058: the mail program posts; the token alone identifies user and kind
def notice_unsubscribe(request: HttpRequest, token: str) -> HttpResponse:
    """The page behind an e-mail's unsubscribe link; mail programs POST to it themselves.

    A GET changes nothing: mail scanners follow every link.
    """
    subscription = read_unsubscribe_token(token)
    if subscription is None:
        page = {
            "title": _("E-mails"),
            "heading": _("This link does not work"),
            "text": _(
                "It was not copied in full, or the account no longer exists. Choose the e-mails "
                "you get in your profile."
            ),
            "action": (reverse("profile"), _("Go to my profile")),
        }
        return render(request, "notice.html", page, status=404)
    user, kind = subscription
    if request.method == "POST":
        with transaction.atomic():
            if mute(user, kind):
                record("notices.muted", kind, company=None, user=user, ip=client_ip(request.META))
    with translation.override(user.language):
        context = {"kind": kind.label, "is_done": request.method == "POST"}
        return render(request, "account/unsubscribe.html", context)
