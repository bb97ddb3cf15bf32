"""The fallback part of a company's settings: chain of channels, patience, maximum cost."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.conf import settings
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.models import Company
from catalogue.channels import CHANNELS, choices
from parsing.form_fields import IntegerField

PATIENCE = {f"patience_{channel.name}": channel for channel in CHANNELS}
FIELDS = ("falls_back", "fallback_max_cost")
HELP = {
    "fallback_max_cost": _(
        "For one message; more expensive channels are skipped. Leave empty for any price."
    )
}
CHAIN_LABELS = (_("First"), _("Then"), *[_("And then")] * len(CHANNELS[2:]))
CHAIN_FIELDS = {f"chain_{n}": label for n, label in enumerate(CHAIN_LABELS, start=1)}


class WithFallback(forms.BaseForm):
    """Gives templates the fields of the chain and of patience."""

    @property
    def chain(self) -> list[forms.BoundField]:
        return [self[name] for name in CHAIN_FIELDS]

    @property
    def patience(self) -> list[forms.BoundField]:
        return [self[name] for name in PATIENCE]


def offered_chain(default_channel: str) -> list[str]:
    """The chain shown until the company has chosen one: its default channel, then the others."""
    names = [channel.name for channel in CHANNELS]
    return sorted(names, key=lambda name: name != default_channel)


def chain_fields(chain: list[str]) -> dict[str, forms.ChoiceField]:
    """A select per position of the chain, which needs no JavaScript."""
    initial = [*chain, *[""] * len(CHAIN_FIELDS)]
    return {
        name: forms.ChoiceField(
            label=title, required=False, choices=[("", "—"), *choices()], initial=initial[index]
        )
        for index, (name, title) in enumerate(CHAIN_FIELDS.items())
    }


def patience_fields(patience: Mapping[str, int]) -> dict[str, forms.IntegerField]:
    minimum, maximum = settings.PATIENCE_RANGE
    text = _(
        "From %(min)d to %(max)d. Leave empty for %(code)d for a code and %(link)d for a link."
    )
    return {
        name: IntegerField(
            label=format_lazy(_("Seconds for {channel}"), channel=channel.title),
            help_text=text % {"min": minimum, "max": maximum, **channel.patience._asdict()},
            required=False,
            min_value=minimum,
            max_value=maximum,
            initial=patience.get(channel.name),
        )
        for name, channel in PATIENCE.items()
    }


def clean_patience(cleaned: dict[str, Any]) -> None:
    """Combines the channels' fields into the model field `patience`."""
    seconds = {channel.name: cleaned.pop(name, None) for name, channel in PATIENCE.items()}
    cleaned["patience"] = {name: value for name, value in seconds.items() if value is not None}


def take_chain(form: forms.BaseForm, cleaned: dict[str, Any]) -> list[str]:
    """Removes the selects' values from `cleaned`; returns the chain that they make."""
    positions = {name: cleaned.pop(name, "") for name in CHAIN_FIELDS}
    chain: list[str] = []
    for name, channel in positions.items():
        if channel and channel in chain:
            form.add_error(name, _("Each channel can appear only once."))
        elif channel:
            chain.append(channel)
    return chain


def clean_chain(form: "forms.ModelForm[Company]", cleaned: dict[str, Any]) -> None:
    """Combines the selects into the model field `fallback_chain`."""
    chain = take_chain(form, cleaned)
    if cleaned.get("falls_back") and not form.errors:
        _check(form, chain, cleaned)
    company = form.instance
    if not (cleaned.get("falls_back") or company.fallback_chain):
        chain = []  # nobody has chosen these values yet
    cleaned["fallback_chain"] = chain


def _check(form: "forms.ModelForm[Company]", chain: list[str], cleaned: Mapping[str, Any]) -> None:
    if len(chain) < 2:
        form.add_error("chain_2", _("Choose two channels or more."))
    elif cleaned.get("default_channel") == chain[-1]:
        form.add_error(
            "default_channel", _("Nothing follows this channel in the chain: choose another.")
        )
