"""The cabinet's forms of short links: making, changing, finding them, and their settings."""

from collections.abc import Callable
from functools import partial
from typing import Any, cast
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.keys.principal import link_rules
from accounts.models import Company
from cabinet.forms import ListField, ModeFilterForm
from cabinet.settings_forms import SectionForm, lifetimes
from catalogue.errors import DomainError
from links.addresses import aliases, short_hosts, target_urls, utm_tags
from links.make.new_link import SLUG_LENGTH, NewLink
from links.manage.changes import Change
from links.models import Link
from parsing.form_fields import LineField
from parsing.stale_forms import RefusesStaleForm

LIFETIMES = [
    ("", pgettext_lazy("link", "no limit")),
    ("3600", _("an hour")),
    ("86400", _("a day")),
    ("604800", _("a week")),
    ("2592000", _("a month")),
    ("31536000", _("a year")),
]
KEEP = "keep"
STATES = [
    ("active", pgettext_lazy("link", "active")),
    ("expired", pgettext_lazy("link", "expired")),
    ("disabled", pgettext_lazy("link", "disabled")),
    ("used", pgettext_lazy("link", "opened, once")),
]


class LinkFilter(ModeFilterForm):
    batch = LineField(max_length=50, required=False, widget=forms.HiddenInput)
    search = LineField(
        label=_("Short link or destination"),
        max_length=200,
        required=False,
        widget=forms.TextInput(attrs={"spellcheck": "false", "placeholder": "https://…"}),
    )
    state = forms.ChoiceField(
        label=_("State"), choices=[("", pgettext_lazy("state", "any")), *STATES], required=False
    )


class TargetForm(forms.Form):
    """The form for a link's target: `main` fields are always shown, `options` are folded away."""

    template_name = "cabinet/link_fields.html"
    url = forms.CharField(
        label=_("Destination"),
        max_length=target_urls.MAX_LENGTH,
        widget=forms.URLInput(attrs={"placeholder": "https://", "autocomplete": "off"}),
    )

    def __init__(self, *args: Any, company: Company, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.company = company
        self.rules = link_rules(company)
        if not self._offered_tags():
            del self.fields["has_tags"]

    def _offered_tags(self) -> str:
        """The tags that the checkbox would add; empty if there is no choice."""
        return self.rules.utm

    def clean_url(self) -> str:
        return self._target("url")

    def clean_expired_url(self) -> str:
        return self._target("expired_url") if self.cleaned_data["expired_url"] else ""

    def _target(self, name: str) -> str:
        check = partial(target_urls.check_target, field=name, allowed=self.rules.targets)
        return validated(check, self.cleaned_data[name])

    @property
    def main(self) -> list[forms.BoundField]:
        return [self[name] for name in ("url", "alias", "lifetime") if name in self.fields]

    @property
    def options(self) -> list[forms.BoundField]:
        return [field for field in self if field not in self.main]

    @property
    def has_faulty_options(self) -> bool:
        return any(field.errors for field in self.options)


def expired_url_field() -> forms.CharField:
    return forms.CharField(
        label=_("Destination once it has expired"),
        max_length=target_urls.MAX_LENGTH,
        required=False,
        help_text=_("Leave empty to show a page that says the link no longer works."),
        widget=forms.URLInput(attrs={"placeholder": "https://", "autocomplete": "off"}),
    )


def _tags_field() -> forms.BooleanField:
    return forms.BooleanField(label=_("Add the company's tags to the target"), required=False)


class LinkForm(TargetForm):
    alias = LineField(
        label=_("Custom name (optional)"),
        max_length=64,
        required=False,
        help_text=_(
            "3–64 Latin letters, digits, hyphens or underscores. Leave empty for a short "
            "random name."
        ),
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocomplete": "off"}),
    )
    lifetime = forms.ChoiceField(label=_("Lifetime"), choices=LIFETIMES, required=False)
    host = forms.ChoiceField(label=_("Host"), required=False)
    is_once = forms.BooleanField(
        label=_("Opens once"),
        required=False,
        help_text=_("The visitor confirms with a button; after that the link no longer works."),
    )
    expired_url = expired_url_field()
    has_tags = _tags_field()

    def __init__(self, *args: Any, company: Company, **kwargs: Any) -> None:
        super().__init__(*args, company=company, **kwargs)
        company_url = self.rules.expired_url
        self.initial.update(
            {
                "host": self.rules.host,
                "expired_url": "" if target_urls.is_blocked(company_url) else company_url,
                "has_tags": True,
            }
        )
        offered = host_choices(company)
        if len(offered) > 1:
            cast(forms.ChoiceField, self.fields["host"]).choices = offered
        else:
            del self.fields["host"]

    def clean_alias(self) -> str:
        alias: str = self.cleaned_data["alias"]
        if alias:
            validated(aliases.check, alias)
        return alias

    def clean_lifetime(self) -> int | None:
        return int(self.cleaned_data["lifetime"]) if self.cleaned_data["lifetime"] else None

    def new_link(self) -> NewLink:
        data = self.cleaned_data
        return NewLink(
            url=data["url"],
            alias=data["alias"] or None,
            lifetime=data["lifetime"],
            length=SLUG_LENGTH,
            host=short_hosts.find(data.get("host", "")),
            utm=self.rules.utm if data.get("has_tags") else "",
            expired_url=data["expired_url"],
            is_once=data["is_once"],
        )


def host_choices(company: Company) -> list[tuple[str, str]]:
    standard = urlsplit(settings.SHORT_URL).netloc
    hosts = [row.host for row in short_hosts.of_company(company.pk)]
    return [("", standard), *zip(hosts, hosts, strict=True)]


class ChangeForm(RefusesStaleForm, TargetForm):
    lifetime = forms.ChoiceField(
        label=_("Lifetime"),
        choices=[(KEEP, _("as it is")), *LIFETIMES],
        required=False,
        help_text=_("Counted from now."),
    )
    expired_url = expired_url_field()
    has_tags = _tags_field()

    def __init__(self, *args: Any, link: Link, **kwargs: Any) -> None:
        self.link = link
        super().__init__(*args, company=link.company, **kwargs)
        self.initial.update(
            {
                "url": link.url,
                "lifetime": KEEP,
                "expired_url": link.expired_url,
                "has_tags": bool(link.utm),
            }
        )

    def _offered_tags(self) -> str:
        return self.link.utm or self.rules.utm

    def change(self) -> Change:
        data = self.cleaned_data
        lifetime = data["lifetime"]
        return Change(
            url=data["url"],
            lifetime=int(lifetime) if lifetime not in {KEEP, ""} else None,
            is_endless=lifetime == "",
            expired_url=data["expired_url"],
            utm=self._offered_tags() if data.get("has_tags") else "",
        )


def validated(check: Callable[[str], str], value: str) -> str:
    try:
        return check(value)
    except DomainError as error:
        raise ValidationError(error.texts) from None


SAMPLE = "https://example.com/catalog"


class LinksSection(SectionForm):
    slug = "links"
    title = _("Short links")
    intro = _(
        "For new links; existing ones stay as they are. For links under your own host, write to "
        "the operator of the service and name the host."
    )
    layout = "cabinet/settings/links.html"

    default_link_lifetime = forms.TypedChoiceField(
        label=_("Default link lifetime"),
        required=False,
        coerce=int,
        empty_value=None,
        help_text=_("For short links created without a lifetime of their own."),
    )
    link_host = forms.ChoiceField(
        label=_("Host for new short links"),
        required=False,
        help_text=_("Existing links stay where they are. WhatsApp always uses the service's host."),
    )
    link_targets = ListField(
        label=_("Sites that links may lead to"),
        max_length=5000,
        widget=forms.TextInput(attrs={"placeholder": "example.com, example.org"}),
        help_text=_("Subdomains are included. Leave empty to allow any site that is not blocked."),
    )
    link_utm = LineField(
        label=_("Tags added to targets"),
        max_length=1000,
        required=False,
        help_text=_("Tags that the target already has are kept. Leave empty to add none."),
        widget=forms.TextInput(
            attrs={
                "placeholder": "utm_source=kvitok",
                "spellcheck": "false",
                "autocomplete": "off",
            }
        ),
    )
    link_expired_url = expired_url_field()

    class Meta:
        model = Company
        fields = (
            *("default_link_lifetime", "link_host", "link_targets", "link_utm"),
            "link_expired_url",
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        company = self.instance
        lifetime = cast(forms.ChoiceField, self.fields["default_link_lifetime"])
        lifetime.choices = lifetimes(company.default_link_lifetime)
        host = cast(forms.ChoiceField, self.fields["link_host"])
        host.choices = host_choices(company)
        if len(host.choices) == 1 and not company.link_host:
            host.widget = forms.HiddenInput()

    def clean_link_targets(self) -> list[str]:
        try:
            sites = [target_urls.check_site(name) for name in self.cleaned_data["link_targets"]]
        except DomainError as error:
            raise ValidationError(error.texts) from None
        return list(dict.fromkeys(sites))

    def clean_link_utm(self) -> str:
        return validated(utm_tags.check_tags, self.cleaned_data["link_utm"])

    def clean_link_expired_url(self) -> str:
        url: str = self.cleaned_data["link_expired_url"]
        allowed = self.cleaned_data.get("link_targets", ())
        check = partial(target_urls.check_target, field="link_expired_url", allowed=allowed)
        return validated(check, url) if url else ""

    @property
    def example(self) -> str:
        """The target of a link sent by SMS, with the current tags."""
        tags = str(self.initial["link_utm"]).replace(utm_tags.CHANNEL_PLACEHOLDER, "sms")
        return f"{SAMPLE}?{tags}" if tags else SAMPLE
