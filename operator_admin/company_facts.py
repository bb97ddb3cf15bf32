"""A company in the admin: the facts that operators check before approval, and its form."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib.admin.widgets import AdminIntegerFieldWidget
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db.models import Max
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.models import Company, Member, Mode
from billing.models import BillingProfile, Order, Transfer
from cabinet import fallback_forms
from cabinet.forms import CountryCodesField
from catalogue import channels
from catalogue.texts import StrOrPromise
from channels.history import figures
from channels.history.figures import DayRange
from links.api.lifetime_fields import MINUTE
from links.models import Report
from links.web.forms import LinksSection, host_choices
from operator_admin import figures as operator_figures
from operator_admin.models import CompanyNote
from parsing.form_fields import IntegerField

MAX_SHOWN = 5
TEST_DAYS = 30
MIN_VALUES = {"default_link_lifetime": MINUTE, "api_rate": 1}
# Providers of mailboxes: an address there says nothing about the employer.
MAILBOXES = {
    *("gmail.com", "mail.ru", "yandex.ru", "ya.ru", "bk.ru", "inbox.ru", "list.ru", "rambler.ru"),
    *("outlook.com", "hotmail.com", "yahoo.com", "icloud.com", "proton.me", "internet.ru"),
}


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact to check; `ok` is None if it is neither good nor bad."""

    title: StrOrPromise
    ok: bool | None
    detail: str


def facts_of(company: Company) -> dict[str, Any]:
    members = list(
        Member.objects.filter(company=company).select_related("user").order_by("created_at")
    )
    external = ["top_up", "grant", "withdraw"]
    transfers = Transfer.objects.filter(company=company, kind__in=external)
    notes = CompanyNote.objects.filter(company=company).select_related("author")
    return {
        "company": company,
        "facts": [
            _billing_details(company),
            _people(members),
            _keys(company),
            _test_sends(company),
            _reports(company),
        ],
        "members": members[:MAX_SHOWN],
        "transfers": transfers.order_by("-created_at", "-id")[:MAX_SHOWN],
        "notes": notes.order_by("-created_at", "-pk")[: 4 * MAX_SHOWN],
    }


def page_context(company: Company) -> dict[str, Any]:
    """The facts that the company's own page in the admin shows above its form."""
    return {
        "title": company.name,
        "subtitle": None,
        "company_facts": facts_of(company),
        "note_url": reverse("admin:company-note", args=[company.pk]),
        "day": operator_figures.companies([company.pk])[company.pk],
        "unpaid": Order.objects.filter(company=company, state=Order.State.PENDING).count(),
    }


def _billing_details(company: Company) -> Fact:
    profile = BillingProfile.objects.filter(company=company).first()
    if profile is None or not profile.legal_name:
        return Fact(_("Billing details"), False, "—")
    parts = (profile.legal_name, profile.inn, profile.effective_country)
    return Fact(_("Billing details"), not profile.missing, ", ".join(filter(None, parts)))


def _people(members: Sequence[Member]) -> Fact:
    domains = sorted({member.user.email.rpartition("@")[2].lower() for member in members})
    is_own = any(domain not in MAILBOXES for domain in domains)
    return Fact(_("E-mail domains"), is_own if domains else None, ", ".join(domains) or "—")


def _keys(company: Company) -> Fact:
    last = company.api_keys.aggregate(last=Max("last_used_at"))["last"]
    number = company.api_keys.active().count()
    used = f", {date_format(timezone.localtime(last), 'DATE_FORMAT')}" if last else ""
    return Fact(_("API keys, last used"), None, f"{number}{used}")


def _test_sends(company: Company) -> Fact:
    numbers = figures.figures(company, Mode.TEST, DayRange.last_days(TEST_DAYS))
    return Fact(_("Test messages in 30 days"), numbers.now.messages > 0, str(numbers.now.messages))


def _reports(company: Company) -> Fact:
    number = Report.objects.filter(link__company=company).count()
    return Fact(_("Reports about its links"), number == 0, str(number))


class CheckedForm(forms.ModelForm):  # type: ignore[type-arg]
    """A form that reads countries and rules of links like the company's own settings.

    Otherwise a country in lower case would refuse every send, and a site in capitals every link.
    """

    clean_link_targets = LinksSection.clean_link_targets
    clean_link_utm = LinksSection.clean_link_utm
    clean_link_expired_url = LinksSection.clean_link_expired_url

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, minimum in MIN_VALUES.items():
            if name in self.fields:
                self.fields[name].validators.append(MinValueValidator(minimum))
        for name, channel in fallback_forms.PATIENCE.items():
            self.initial[name] = self.instance.patience.get(channel.name)

    def clean_allowed_countries(self) -> list[str]:
        codes: list[str] = CountryCodesField().clean(
            ",".join(self.cleaned_data["allowed_countries"])
        )
        return codes

    def clean_fallback_chain(self) -> list[str]:
        chain: list[str] = self.cleaned_data["fallback_chain"]
        for name in chain:
            forms.ChoiceField(choices=channels.choices).clean(name)
        if len({*chain}) < len(chain):
            raise ValidationError(_("Each channel can appear only once."))
        return chain

    def clean_link_host(self) -> str:
        host: str = self.cleaned_data["link_host"]
        if host not in dict(host_choices(self.instance)):
            raise ValidationError(_("The company has no such host of short links"))
        return host

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        fallback_forms.clean_patience(cleaned)
        self.instance.patience = cleaned["patience"]
        return cleaned


# The admin reads the fields from the class.
CompanyForm = type(
    "CompanyForm",
    (CheckedForm,),
    {
        name: IntegerField(
            label=format_lazy(_("Seconds for a proof by {channel}"), channel=channel.title),
            required=False,
            min_value=1,
            widget=AdminIntegerFieldWidget,
        )
        for name, channel in fallback_forms.PATIENCE.items()
    },
)


def with_patience(names: list[Any]) -> list[Any]:
    """The fields in page order: the patience of each channel follows the chain."""
    others = [name for name in names if name not in fallback_forms.PATIENCE]
    position = others.index("fallback_chain") + 1
    return [*others[:position], *fallback_forms.PATIENCE, *others[position:]]
