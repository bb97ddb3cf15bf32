"""The part of a company's settings that is about its short links."""

from functools import partial
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.cabinet.forms import ListField
from accounts.models import Company
from config.errors import DomainError
from config.input.form_fields import LineField
from links.addresses import target_urls, utm_tags
from links.web.forms import error_messages, expired_url_field, host_choices, validated

SAMPLE = "https://example.com/catalog"


class LinkSettingsForm(forms.Form):
    """Its fields are the company's own."""

    link_host = forms.ChoiceField(
        label=_("Host of new short links"),
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

    def __init__(self, *args: Any, company: Company, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial = {name: getattr(company, name) for name in self.base_fields}
        offered = host_choices(company)
        self.fields["link_host"].choices = offered  # type: ignore[attr-defined]
        if len(offered) == 1 and not company.link_host:
            del self.fields["link_host"]

    def clean_link_targets(self) -> list[str]:
        try:
            sites = [target_urls.check_site(one) for one in self.cleaned_data["link_targets"]]
        except DomainError as refused:
            raise ValidationError(error_messages(refused)) from None
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
        """Where a link from an SMS leads, with the tags that are set."""
        tags = str(self.initial["link_utm"]).replace(utm_tags.CHANNEL_PLACEHOLDER, "sms")
        return f"{SAMPLE}?{tags}" if tags else SAMPLE
