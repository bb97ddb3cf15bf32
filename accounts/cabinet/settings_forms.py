"""The form of a company's settings."""

from typing import TYPE_CHECKING, Any, cast

import phonenumbers
from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.cabinet import fallback_forms
from accounts.cabinet.forms import ListField
from accounts.cabinet.number_fields import GroupedIntegerField
from accounts.models import Company
from accounts.names import brand_names
from config import channels

HOUR, DAY = 3600, 86_400
LIFETIMES = (HOUR, DAY, 7 * DAY, 30 * DAY, 90 * DAY, 365 * DAY)
CODES = ("codes_per_10_min", "codes_per_hour", "codes_per_day")
LINKS = ("links_per_10_min", "links_per_day")
WORDING = ("brand", "language", "code_length")
SENDING = ("default_channel", "allowed_countries", "all_countries", "default_link_lifetime")
PATIENCE = (*fallback_forms.PATIENCE, "fallback_max_cost")


def bounds() -> dict[str, tuple[int, int, int]]:
    """Limit → (minimum, maximum, the service's default): what a company may choose."""
    least, most = settings.COOL_DOWN_RANGE
    codes = zip(CODES, settings.MAX_CODE_LIMITS, settings.CODE_LIMITS, strict=True)
    links = zip(LINKS, settings.MAX_LINK_LIMITS, settings.LINK_LIMITS, strict=True)
    return {
        "cool_down": (least, most, settings.COOL_DOWN),
        **{name: (1, most, own) for name, most, (own, _seconds) in (*codes, *links)},
    }


if TYPE_CHECKING:
    CompanyModelForm = forms.ModelForm[Company]
else:
    CompanyModelForm = forms.ModelForm  # generic in the stubs alone


class SettingsForm(CompanyModelForm):
    allowed_countries = ListField(
        label=_("Allowed countries"),
        max_length=1000,
        widget=forms.TextInput(attrs={"placeholder": "RU, KZ, BY"}),
        help_text=_(
            "Two-letter codes of the countries you send to. Leave empty for your own only."
        ),
    )
    default_link_lifetime = forms.TypedChoiceField(
        label=_("Default link lifetime"),
        required=False,
        coerce=int,
        empty_value=None,
        help_text=_("For short links created without a lifetime of their own."),
    )

    class Meta:
        model = Company
        fields = (
            "brand",
            "language",
            "code_length",
            "default_channel",
            "all_countries",
            "allowed_countries",
            "default_link_lifetime",
            "cool_down",
            *CODES,
            *LINKS,
            *fallback_forms.FIELDS,
        )
        field_classes = {"fallback_max_cost": GroupedIntegerField}
        widgets = {"fallback_max_cost": forms.TextInput({"inputmode": "numeric"})}
        labels = {
            **fallback_forms.LABELS,
            "default_channel": _("Default channel"),
            "all_countries": _("Send to every country"),
            "brand": _("Brand in messages"),
            "language": _("Language of messages"),
            "code_length": _("Digits in a code"),
            "cool_down": _("Seconds between two codes"),
            "codes_per_10_min": _("Codes in 10 minutes"),
            "codes_per_hour": _("Codes in an hour"),
            "codes_per_day": _("Codes in 24 hours"),
            "links_per_10_min": _("Links in 10 minutes"),
            "links_per_day": _("Links in 24 hours"),
        }
        help_texts = {
            **fallback_forms.HELP,
            "default_channel": _("For requests that do not name a channel."),
            "all_countries": _(
                "A stolen key could then send to expensive numbers anywhere. List the countries "
                "instead if you know them."
            ),
            "brand": _("Shown to the person who gets the code. Leave empty for the company name."),
            "language": _("For requests that do not name a language."),
            "code_length": _("From 4 to 8."),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        channel = cast(forms.ChoiceField, self.fields["default_channel"])
        _blank, *named = channel.choices  # type: ignore[misc]
        channel.choices = [("", _first_available()), *named]
        lifetime = cast(forms.ChoiceField, self.fields["default_link_lifetime"])
        lifetime.choices = lifetimes(self.instance.default_link_lifetime)
        for name, (least, most, own) in bounds().items():
            self._limit(name, least, most, own)
        self.fields.update(fallback_forms.chain_fields(self.instance.fallback_chain))
        self.fields.update(fallback_forms.patience_fields(self.instance.patience))
        # In page order: the first invalid field gets the focus.
        self.order_fields(
            (*WORDING, *SENDING, "falls_back", *fallback_forms.CHAIN_FIELDS, *PATIENCE)
        )

    def _limit(self, name: str, least: int, most: int, own: int) -> None:
        field = cast(forms.IntegerField, self.fields[name])
        if name == "cool_down":  # a value set by the operator beyond the bounds may stay
            held = self.instance.cool_down or own
            least, most = min(least, held), max(most, held)
        field.validators += [MinValueValidator(least), MaxValueValidator(most)]
        field.widget.attrs |= {"min": least, "max": most, "placeholder": own}
        field.help_text = _("From %(least)d to %(most)d. Empty: %(own)d.") % {
            "least": least,
            "most": most,
            "own": own,
        }

    def clean_brand(self) -> str:
        brand: str = self.cleaned_data["brand"]
        if not brand_names.is_valid(brand):
            raise ValidationError(_("A brand is one line without a web address or a phone number."))
        return brand

    def clean(self) -> dict[str, Any]:
        """A longer window needs at least the limit of a shorter one, else that has no effect."""
        cleaned = super().clean() or self.cleaned_data
        fallback_forms.clean_chain(self, cleaned)
        fallback_forms.clean_patience(cleaned)
        standard = bounds()
        for names in (CODES, LINKS):
            if self.errors.keys() & set(names):
                continue
            counts = [cleaned[name] or standard[name][2] for name in names]
            for name, shorter, longer in zip(names[1:], counts, counts[1:], strict=False):
                if longer < shorter:
                    self.add_error(
                        name,
                        _("Lower than the limit for the shorter period: %(n)d.") % {"n": shorter},
                    )
        return cleaned

    @property
    def wording(self) -> list[forms.BoundField]:
        return [self[name] for name in WORDING]

    @property
    def sending(self) -> list[forms.BoundField]:
        return [self[name] for name in SENDING]

    @property
    def chain(self) -> list[forms.BoundField]:
        return [self[name] for name in fallback_forms.CHAIN_FIELDS]

    @property
    def patience(self) -> list[forms.BoundField]:
        return [self[name] for name in PATIENCE]

    @property
    def limits(self) -> list[forms.BoundField]:
        return [self[name] for name in bounds()]

    def clean_allowed_countries(self) -> list[str]:
        countries = [code.upper() for code in self.cleaned_data["allowed_countries"]]
        for code in countries:
            if code not in phonenumbers.SUPPORTED_REGIONS:
                raise ValidationError(_("%(code)s is not a country code."), params={"code": code})
        return countries


def _first_available() -> str:
    titles = ", ".join(str(title) for _name, title in channels.choices())
    return _("The first available: %(channels)s") % {"channels": titles}


def lifetimes(current: int | None) -> list[tuple[int | str, Any]]:
    """The offered lifetimes, including the current one."""
    seconds = sorted({*LIFETIMES, *([current] if current else [])})
    return [("", _("Never expires")), *((one, lifetime_words(one)) for one in seconds)]


def lifetime_words(seconds: int) -> str:
    if seconds % DAY == 0:
        days = seconds // DAY
        return ngettext("%(n)d day", "%(n)d days", days) % {"n": days}
    if seconds % HOUR == 0:
        hours = seconds // HOUR
        return ngettext("%(n)d hour", "%(n)d hours", hours) % {"n": hours}
    return ngettext("%(n)d second", "%(n)d seconds", seconds) % {"n": seconds}
