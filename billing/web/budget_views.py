"""The budgets tab of a company's settings: the day, any country, and each country in use."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.dateformat import time_format
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.people import countries
from accounts.people.cabinet_access import (
    CabinetRequest,
    can_manage_members,
    can_read_settings,
    member_required,
)
from accounts.people.countries import CountryField
from accounts.security import reauthentication
from billing.budgets import budgets, key_limits
from billing.budgets.key_limits import KeyUsage
from billing.budgets.sql import NO_LIMIT, BudgetUsage
from billing.models import Budget
from billing.wallet import ledger
from cabinet.forms import GroupedIntegerField, grouped
from parsing.stale_forms import RefusesStaleForm
from processes.server.client_ip import client_ip


class TokensField(GroupedIntegerField):
    """A number of tokens; empty means the usual budget."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, min_value=0, max_value=settings.MAX_BUDGET, **kwargs)


class BudgetForm(RefusesStaleForm, forms.Form):
    day = TokensField(label=_("Tokens per day, the whole company"))
    any_country = TokensField(label=_("Tokens per hour, any other country"))
    new_country = CountryField(label=_("Another country"), required=False)
    new_tokens = TokensField(label=_("Its tokens per hour"))

    def __init__(
        self,
        data: Any,
        *,
        uses: Sequence[BudgetUsage],
        fixed_any: int | None,
        keys: Sequence[KeyUsage] = (),
        typed: Mapping[str, Any],
    ) -> None:
        self.day_use, *self.hours = uses
        self.keys = keys
        stored = {"day": self.day_use.fixed_tokens, "any_country": fixed_any}
        stored |= {_field_name(use): use.fixed_tokens for use in self.hours}
        stored |= {_key_name(use.key_id): use.tokens for use in keys}
        self.stored: dict[str, int | None] = stored
        super().__init__(data, initial={**stored, **typed})
        for use in self.hours:
            label = _("Tokens per hour, %(country)s") % {"country": countries.name(use.country)}
            self.fields[_field_name(use)] = TokensField(label=label)
        for key in keys:
            self.fields[_key_name(key.key_id)] = _key_field(key)
        for use in uses:
            field = self.fields[_field_name(use)]
            field.widget.attrs |= {"placeholder": grouped(use.tokens)}
            field.help_text = _("%(used)s of %(tokens)s used; resets at %(at)s.") % {
                "used": grouped(use.used),
                "tokens": grouped(use.tokens),
                "at": time_format(timezone.localtime(use.resets_at), "H:i"),
            }
        self.fields["any_country"].widget.attrs["placeholder"] = grouped(
            settings.BUDGET_COUNTRY_HOUR
        )

    @property
    def budgets(self) -> list[forms.BoundField]:
        return [self["day"], *(self[_field_name(use)] for use in self.hours)]

    @property
    def key_limits(self) -> list[forms.BoundField]:
        return [self[_key_name(key.key_id)] for key in self.keys]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("new_tokens") is not None and not cleaned.get("new_country", "-"):
            self.add_error("new_country", _("Name the country that this budget is for."))
        return cleaned

    def tokens(self) -> dict[str, int | None]:
        """The changed budgets by country, in the form of `budgets.set_fixed`.

        Unchanged ones are left out: somebody else may change them at the same time.
        """
        cleaned = self.cleaned_data
        tokens = {Budget.DAY: cleaned["day"], Budget.ANY: cleaned["any_country"]}
        tokens |= {use.country: cleaned[_field_name(use)] for use in self.hours}
        if cleaned["new_country"] and cleaned["new_tokens"] is not None:
            tokens[cleaned["new_country"]] = cleaned["new_tokens"]
        return {name: new for name, new in tokens.items() if new != self.stored.get(_key(name))}

    def limits(self) -> dict[int, int | None]:
        """The changed limits by key, in the form of `key_limits.set_limits`."""
        limits = {key.key_id: self.cleaned_data[_key_name(key.key_id)] for key in self.keys}
        return {key: new for key, new in limits.items() if new != self.stored[_key_name(key)]}

    def _raises_key_limit(self) -> bool:
        return any(
            _as_number(new) > _as_number(self.stored[_key_name(key)])
            for key, new in self.limits().items()
        )

    def raises(self) -> bool:
        """Whether the change raises a limit, which requires reauthentication."""
        current = {
            Budget.DAY: self.day_use.tokens,
            **{use.country: use.tokens for use in self.hours},
        }
        return self._raises_key_limit() or any(
            new is None or new > current.get(country, 0) for country, new in self.tokens().items()
        )


def _field_name(use: BudgetUsage) -> str:
    return f"hour_{use.country}" if use.country else "day"


def _key(country: str) -> str:
    return {Budget.DAY: "day", Budget.ANY: "any_country"}.get(country, f"hour_{country}")


def _key_name(key_id: int) -> str:
    return f"key_{key_id}"


def _as_number(limit: int | None) -> int:
    return NO_LIMIT if limit is None else limit


def _key_field(key: KeyUsage) -> TokensField:
    field = TokensField(label=key.label)
    field.widget.attrs["placeholder"] = _("no limit of its own")
    at = time_format(timezone.localtime(key.resets_at), "H:i")
    if key.left is None:
        text = _("%(used)s used today.")
    else:
        text = _("%(used)s used today, %(left)s left; resets at %(at)s.")
    field.help_text = text % {"used": grouped(key.used), "left": grouped(key.left or 0), "at": at}
    return field


def _submitted(names: Iterable[str]) -> set[str]:
    """The countries of the submitted form, some of which may no longer be in use."""
    return {name.removeprefix("hour_") for name in names} & countries.CODES


@member_required(can_read_settings, can_manage_members)
def budget_edit(request: CabinetRequest) -> HttpResponse:
    """Shows usage and limits; owners may change the limits."""
    company = request.company
    listed = {*(company.allowed_countries or [company.country]), *_submitted(request.POST)}
    uses = budgets.usage(company.pk, sorted(listed))
    form = BudgetForm(
        request.POST or None,
        uses=uses,
        fixed_any=budgets.fixed_for_other_countries(company.pk),
        keys=key_limits.usage(company.pk),
        typed=reauthentication.draft(request),
    )
    if request.method == "POST" and form.is_valid():
        if form.raises():
            reauthentication.require(request, form)
        ip = client_ip(request.META)
        budgets.set_fixed(company=company, tokens=form.tokens(), user=request.user, ip=ip)
        key_limits.set_limits(company=company, tokens=form.limits(), user=request.user, ip=ip)
        messages.success(request, gettext("Budgets saved; they take effect within two seconds."))
        return redirect("budget-edit")
    available = ledger.balance(company.pk).available
    context = {
        "form": form,
        "most": min(available, uses[0].left),
        "is_owner": request.member.can_manage_members,
    }
    return render(request, "billing/budget_form.html", context)
