"""The form of a person's own name, language, time zone and shortcuts."""

from typing import Any

from django import forms
from django.conf import settings
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from accounts.cabinet.profile import time_zones
from accounts.models import User
from accounts.outbox.notice_kinds import NoticeKind


class ProfileForm(forms.ModelForm):  # type: ignore[type-arg]
    time_zone = forms.ChoiceField(
        label=_("Time zone"),
        required=False,
        help_text=_("Times in the cabinet are shown in it. Days in filters, charts and statements "
                    "are counted in the service's time zone."),
    )  # fmt: skip

    notices = forms.MultipleChoiceField(
        label=_("E-mails to you"),
        required=False,
        choices=NoticeKind.choices,
        widget=forms.CheckboxSelectMultiple(attrs={"class": "form-check-input"}),
        help_text=_(
            "From those that your role in a company gets. E-mails about the security of your "
            "account and the state of a company are always sent."
        ),
    )

    class Meta:
        model = User
        fields = ("name", "language", "time_zone", "notices", "has_shortcuts")
        labels = {
            "name": _("Your name"),
            "language": _("Language of the cabinet and of e-mails to you"),
            "has_shortcuts": _("Single-key shortcuts"),
        }
        help_texts = {
            "name": _("As colleagues see it in the list of members."),
            "has_shortcuts": _(
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
        known = time_zones.choices(timezone.now(), get_language() or settings.LANGUAGE_CODE)
        chosen = self.instance.time_zone
        if chosen and chosen not in dict(known):  # chosen before the data of zones dropped it
            known.insert(0, (chosen, chosen))
        return known

    def save(self, commit: bool = True) -> User:
        wanted = self.cleaned_data["notices"]
        self.instance.muted_notices = [kind for kind in NoticeKind.values if kind not in wanted]
        user: User = super().save(commit)
        return user


def _service_zone() -> str:
    place = time_zones.city_of(settings.TIME_ZONE, get_language() or settings.LANGUAGE_CODE)
    return _("The service's: %(place)s") % {"place": place}
