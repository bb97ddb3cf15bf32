"""The cabinet's page of the policy: rules by country and purpose, and a preview for a number."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _

from accounts.form_pages import PageLink, confirm_page, form_page
from accounts.keys import api_keys
from accounts.keys.principal import Principal
from accounts.models import Mode
from accounts.people import countries
from accounts.people.cabinet_access import (
    CabinetRequest,
    can_change_settings,
    can_read_settings,
    member_required,
)
from catalogue.errors import DomainError
from channels.history import savings
from channels.routing import company_policy, plan_preview, stored_rules
from channels.routing.plan_preview import Preview
from channels.routing.stored_rules import StoredRule
from channels.web.fields import DEFAULT_PURPOSE
from channels.web.policy.forms import PreviewForm, RuleForm


@member_required(can_read_settings)
def policy(request: CabinetRequest) -> HttpResponse:
    form = PreviewForm(request.GET or None, member=request.member)
    principal = api_keys.without_key(request.company, Mode.LIVE)
    context = {
        "rules": stored_rules.rules_of(request.company),
        "limit": stored_rules.MAX_RULES,
        "standard": company_policy.channel_order(principal.default_channel, principal.fallback),
        "falls_back": principal.fallback is not None,
        "form": form,
        "preview": _preview(principal, **form.cleaned_data) if form.is_valid() else None,
    }
    return render(request, "cabinet/policy.html", context)


def _preview(principal: Principal, phone: str, purpose: str, kind: str) -> Preview:
    purpose = purpose or DEFAULT_PURPOSE
    return plan_preview.preview(principal, phone, kind=kind or "code", purpose=purpose)


@member_required(can_read_settings)
def policy_savings(request: CabinetRequest) -> HttpResponse:
    """The savings by smart routing against the held-out codes, by country."""
    context = {
        "savings": savings.savings(request.company),
        "days": savings.DAYS,
        "least_codes": savings.MIN_CODES,
        "is_on": any(rule.smart for rule in stored_rules.rules_of(request.company)),
    }
    return render(request, "cabinet/policy_savings.html", context)


@member_required(can_change_settings, can_change_settings)
def rule_create(request: CabinetRequest) -> HttpResponse:
    return _edit(request, StoredRule(), instead_of=None)


@member_required(can_change_settings, can_change_settings)
def rule_edit(request: CabinetRequest, address: str) -> HttpResponse:
    rule = _rule(request, address)
    return _edit(request, rule, instead_of=rule.key)


def _edit(
    request: CabinetRequest, rule: StoredRule, *, instead_of: tuple[str, str] | None
) -> HttpResponse:
    form = RuleForm(request.POST or None, rule=rule)
    if form.is_valid():
        try:
            stored_rules.save_rule(
                company=request.company, rule=form.rule(), instead_of=instead_of, **request.actor
            )
        except DomainError as refusal:
            # The rule being saved is the last one, and a form needs no number.
            (*_others, last) = (refusal.errors or {}).get("rules", [refusal.message])
            form.add_error(None, str(last).partition(": ")[2] or str(last))
        else:
            messages.success(request, _("Rule saved; it takes effect within two seconds."))
            return redirect("policy")
    title = _("New rule") if instead_of is None else _("Change the rule")
    return form_page(request, form, title, verb=_("Save"), back=_rules())


@member_required(can_change_settings, can_change_settings)
def rule_delete(request: CabinetRequest, address: str) -> HttpResponse:
    rule = _rule(request, address)
    if request.method == "POST":
        stored_rules.delete_rule(company=request.company, key=rule.key, **request.actor)
        messages.success(request, _("Rule deleted."))
        return redirect("policy")
    country = countries.name(rule.country) if rule.country else _("All countries")
    purpose = format_html(" / <code>{}</code>", rule.purpose) if rule.purpose else ""
    return confirm_page(
        request,
        _("Delete the rule"),
        _(
            "New messages will follow the next rule that matches, or the company's settings. "
            "Messages on their way keep their channels."
        ),
        verb=_("Delete"),
        back=_rules(),
        subject=format_html("{}{}", country, purpose),
    )


def _rules() -> PageLink:
    return PageLink(reverse("policy"), _("Policy"))


def _rule(request: CabinetRequest, address: str) -> StoredRule:
    for rule in stored_rules.rules_of(request.company):
        if rule.address == address:
            return rule
    raise Http404
