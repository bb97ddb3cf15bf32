"""The forms of a company's settings, one for each section of the page."""

import copy
from typing import TYPE_CHECKING, Any, ClassVar, cast

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.models import Company, User
from accounts.names import is_valid_brand, validate_company_name
from accounts.people import countries
from accounts.people.countries import CountryField
from accounts.security.reauthentication import has_factor
from cabinet import fallback_forms
from cabinet.forms import (
    CountriesField,
    CountryCodesField,
    Group,
    GroupedIntegerField,
    Region,
    by_region,
    groups,
)
from catalogue import channels
from catalogue.languages import message_languages
from catalogue.texts import StrOrPromise

HOUR = 3600
DAY = 86_400
LIFETIMES = (HOUR, DAY, 7 * DAY, 30 * DAY, 90 * DAY, 365 * DAY)
CODES = ("codes_per_10_min", "codes_per_hour", "codes_per_day")
LINKS = ("links_per_10_min", "links_per_day")
PATIENCE = (*fallback_forms.PATIENCE, "fallback_max_cost")


def bounds() -> dict[str, tuple[int, int, int]]:
    """Limit → (minimum, maximum, the service's default): what a company may choose."""
    minimum, maximum = settings.COOL_DOWN_RANGE
    codes = zip(CODES, settings.MAX_CODE_LIMITS, settings.CODE_LIMITS, strict=True)
    links = zip(LINKS, settings.MAX_LINK_LIMITS, settings.LINK_LIMITS, strict=True)
    return {
        "cool_down": (minimum, maximum, settings.COOL_DOWN),
        **{name: (1, top, standard) for name, top, (standard, _seconds) in (*codes, *links)},
    }


if TYPE_CHECKING:
    CompanyModelForm = forms.ModelForm[Company]
else:
    CompanyModelForm = forms.ModelForm  # generic only in the stubs


class SectionForm(CompanyModelForm):
    """A section that is saved separately.

    `stored` names the columns that it changes and its version covers, by default the fields of
    `Meta`.
    """

    slug: ClassVar[str]
    title: ClassVar[StrOrPromise]
    stored: ClassVar[tuple[str, ...]]
    is_for_owners: ClassVar[bool] = False
    # Fields that prices depend on: only members who may see money can change them.
    money_fields: ClassVar[tuple[str, ...]] = ()
    # `intro` is above the fields, `outro` and `links` are below them.
    intro: ClassVar[StrOrPromise] = ""
    outro: ClassVar[StrOrPromise] = ""
    links: ClassVar[tuple[tuple[str, StrOrPromise], ...]] = ()
    paired_fields: ClassVar[tuple[str, ...]] = ()  # shown two in a row
    layout: ClassVar[str] = ""  # the template of fields with their own layout

    def __init_subclass__(cls) -> None:
        if "stored" not in vars(cls):
            cls.stored = tuple(vars(cls)["Meta"].fields)

    def __init__(
        self, *args: Any, company: Company, user: User, sees_money: bool = True, **kwargs: Any
    ) -> None:
        # A copy: rejected values must not show in other sections of the page.
        super().__init__(*args, **kwargs | {"instance": copy.copy(company)})
        self.user = user
        for name in () if sees_money else self.money_fields:
            self.fields[name].disabled = True
            self.fields[name].help_text = _(
                "Only an owner can change it: prices and invoices depend on it."
            )

    @property
    def unpaired(self) -> list[forms.BoundField]:
        return [field for field in self if field.name not in self.paired_fields]

    @property
    def paired(self) -> list[forms.BoundField]:
        return [self[name] for name in self.paired_fields]

    @property
    def changes(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in self.stored}

    @property
    def needs_confirmation(self) -> bool:
        return self.is_for_owners or not set(self.money_fields).isdisjoint(self.changed_data)


class CompanySection(SectionForm):
    slug = "company"
    title = _("Company")
    money_fields = ("country",)
    paired_fields = ("language", "country")

    language = forms.ChoiceField(
        label=_("Message language"),
        choices=message_languages.grouped_choices,
        help_text=_("For requests that do not name a language."),
    )
    country = CountryField(
        help_text=_("Numbers without a country code are read as numbers of this country.")
    )

    class Meta:
        model = Company
        fields = ("name", "brand", "language", "country")
        help_texts = {
            "brand": _("Shown to the person who gets the code. Leave empty for the company name.")
        }

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name != self.initial["name"]:  # names older than the rule may stay
            validate_company_name(name)
        return name

    def clean_brand(self) -> str:
        brand: str = self.cleaned_data["brand"]
        if not is_valid_brand(brand):
            raise ValidationError(_("A brand is one line without a web address or a phone number."))
        return brand


class CodesSection(SectionForm):
    slug = "codes"
    title = _("Codes")
    layout = "cabinet/settings/codes.html"
    links = (("text-list", _("Custom texts and autofill")),)

    class Meta:
        model = Company
        fields = ("code_length",)
        help_texts = {"code_length": _("From 4 to 8.")}


class ChannelsSection(fallback_forms.WithFallback, SectionForm):
    slug = "channels"
    title = _("Channels and fallback")
    stored = ("default_channel", *fallback_forms.FIELDS, "fallback_chain", "patience")
    layout = "cabinet/settings/channels.html"

    class Meta:
        model = Company
        fields = ("default_channel", *fallback_forms.FIELDS)
        field_classes = {"fallback_max_cost": GroupedIntegerField}
        widgets = {"fallback_max_cost": forms.TextInput({"inputmode": "numeric"})}
        help_texts = {
            **fallback_forms.HELP,
            "default_channel": _(
                "For requests that do not name a channel. A number that it does not reach is "
                "refused, unless fallback is on."
            ),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        channel = cast(forms.ChoiceField, self.fields["default_channel"])
        _blank, *choices = channel.choices  # type: ignore[misc]
        channel.choices = [("", _("The first connected one")), *choices]
        values = {"channels": channels.join_titles()}
        channel.help_text = (
            _("Taken in this order: %(channels)s.") % values + f" {channel.help_text}"
        )
        company = self.instance
        chain = company.fallback_chain or fallback_forms.offered_chain(company.default_channel)
        self.fields.update(fallback_forms.chain_fields(chain))
        self.fields.update(fallback_forms.patience_fields(self.instance.patience))
        # In page order: the first invalid field gets the focus.
        self.order_fields(
            ("default_channel", "falls_back", *fallback_forms.CHAIN_FIELDS, *PATIENCE)
        )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        fallback_forms.clean_chain(self, cleaned)
        fallback_forms.clean_patience(cleaned)
        return cleaned


class CountriesSection(SectionForm):
    slug = "countries"
    title = _("Allowed countries")
    layout = "cabinet/settings/countries.html"

    allowed_countries = CountriesField(label=_("Allowed countries"))
    country_codes = CountryCodesField(
        label=_("Add from a list"),
        widget=forms.TextInput(attrs={"placeholder": "RU, KZ, BY", "autocomplete": "off"}),
        help_text=_("Two-letter codes or names, separated by commas: paste what you have."),
    )

    class Meta:
        model = Company
        fields = ("all_countries", "allowed_countries")
        help_texts = {
            "all_countries": _(
                "A stolen key could then send to expensive numbers anywhere. List the countries "
                "instead if you know them."
            )
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.order_fields(("all_countries", "country_codes", "allowed_countries"))

    def clean(self) -> dict[str, Any]:
        """Combines both ways to choose, sorted so that equal choices compare as equal."""
        cleaned = super().clean() or self.cleaned_data
        pasted = cleaned.get("country_codes", [])
        if "allowed_countries" in cleaned:
            cleaned["allowed_countries"] = sorted({*cleaned["allowed_countries"], *pasted})
        return cleaned

    @property
    def chosen(self) -> list[str]:
        return sorted(self["allowed_countries"].value() or [])

    @property
    def chosen_names(self) -> list[str]:
        """Names of the chosen countries, which the list may have scrolled out of view."""
        boxes = (box for region in self.regions for box in region.options if box.is_chosen)
        return [box.name for box in boxes]

    @property
    def regions(self) -> list[Region]:
        return by_region(set(self.chosen))

    @property
    def groups(self) -> list[Group]:
        return groups()

    def with_group(self, group: str) -> dict[str, Any]:
        """The form's values with a group added to the chosen countries, or with none chosen if
        `group` is empty.
        """
        codes = {*self.chosen, *countries.members(group)} if group else set()
        return {
            "allowed_countries": sorted(codes),
            "all_countries": self["all_countries"].value(),
            "country_codes": self["country_codes"].value() or "",
        }


class LimitsSection(SectionForm):
    slug = "limits"
    title = _("Send limits")
    paired_fields = ("cool_down", *CODES, *LINKS)
    intro = _("How often one phone may be messaged, so that nobody is flooded at your expense.")
    links = (("budget-edit", _("Budgets: how many tokens may be spent")),)

    class Meta:
        model = Company
        fields = ("cool_down", *CODES, *LINKS)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, (minimum, maximum, standard) in bounds().items():
            self._limit(name, minimum, maximum, standard)

    def _limit(self, name: str, minimum: int, maximum: int, standard: int) -> None:
        field = cast(forms.IntegerField, self.fields[name])
        if name == "cool_down":  # a value set by the operator beyond the bounds may stay
            current = self.instance.cool_down or standard
            minimum, maximum = min(minimum, current), max(maximum, current)
        field.validators += [MinValueValidator(minimum), MaxValueValidator(maximum)]
        field.widget.attrs |= {"min": minimum, "max": maximum, "placeholder": standard}
        field.help_text = _("From %(min)d to %(max)d. Leave empty for %(own)d.") % {
            "min": minimum,
            "max": maximum,
            "own": standard,
        }

    def clean(self) -> dict[str, Any]:
        """Requires the limit of a longer window to be at least that of a shorter one."""
        cleaned = super().clean() or self.cleaned_data
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


class SecuritySection(SectionForm):
    slug = "security"
    title = _("Member sign-in")
    outro = _("The addresses that a key may be used from are set on the key itself.")
    links = (
        ("key-list", _("API keys")),
        ("mfa_index", _("Your two-step sign-in")),
        ("session-list", _("Your sessions")),
    )
    is_for_owners = True

    class Meta:
        model = Company
        fields = ("requires_second_factor",)
        help_texts = {
            "requires_second_factor": _(
                "A member without a second step is asked to set one up before they see anything "
                "of the company. Keys are not affected."
            )
        }

    def clean_requires_second_factor(self) -> bool:
        is_required: bool = self.cleaned_data["requires_second_factor"]
        if is_required and not has_factor(self.user):
            raise ValidationError(_("Set up two-step sign-in for yourself first."))
        return is_required


SECTIONS: dict[str, type[SectionForm]] = {
    form.slug: form
    for form in (
        CompanySection,
        CodesSection,
        ChannelsSection,
        CountriesSection,
        LimitsSection,
        SecuritySection,
    )
}


def register(form: type[SectionForm]) -> None:
    """Adds a higher package's section, before the one that only owners change."""
    SECTIONS[form.slug] = form
    SECTIONS[SecuritySection.slug] = SECTIONS.pop(SecuritySection.slug)


def lifetimes(current: int | None) -> list[tuple[int | str, Any]]:
    seconds = sorted({*LIFETIMES, *([current] if current else [])})
    return [("", _("Never expires")), *((s, lifetime_text(s)) for s in seconds)]


def lifetime_text(seconds: int) -> str:
    if seconds % DAY == 0:
        days = seconds // DAY
        return ngettext("%(n)d day", "%(n)d days", days) % {"n": days}
    if seconds % HOUR == 0:
        hours = seconds // HOUR
        return ngettext("%(n)d hour", "%(n)d hours", hours) % {"n": hours}
    return ngettext("%(n)d second", "%(n)d seconds", seconds) % {"n": seconds}
