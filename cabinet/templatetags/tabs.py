"""The tabs over the pages of settings and of money."""

from typing import Any, NamedTuple

from django import template
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from accounts.models import Member
from catalogue.texts import StrOrPromise

register = template.Library()


class Tab(NamedTuple):
    name: str
    view: str
    title: StrOrPromise


SETTINGS = (
    Tab("settings", "settings", _("Messages and limits")),
    Tab("policy", "policy", _("Policy")),
    Tab("budgets", "budget-edit", _("Budgets")),
    Tab("protection", "protection", _("Protection")),
    Tab("texts", "text-list", _("Texts")),
    Tab("links", "link-settings", _("Short links")),
    Tab("members", "member-list", _("Members")),
)
AUDIT = Tab("audit", "audit-list", _("Audit log"))
MONEY = (
    Tab("balance", "balance", _("Balance")),
    Tab("statement", "balance-statement", _("Statement")),
    Tab("documents", "document-list", _("Documents")),
    Tab("seals", "balance-seals", _("Seals")),
    Tab("orders", "balance-order-list", _("Top-ups")),
    Tab("automatic", "balance-automatic", _("Automatic")),
    Tab("profile", "balance-profile", _("Billing details")),
)


@register.inclusion_tag("components/tabs.html")
def settings_tabs(here: str, member: Member) -> dict[str, Any]:
    return _shown((*SETTINGS, AUDIT) if member.can_manage_keys else SETTINGS, here)


@register.inclusion_tag("components/tabs.html")
def money_tabs(here: str) -> dict[str, Any]:
    return _shown(MONEY, here)


def _shown(tabs: tuple[Tab, ...], here: str) -> dict[str, Any]:
    links = [
        {"url": reverse(tab.view), "title": tab.title, "is_here": tab.name == here} for tab in tabs
    ]
    return {"tabs": links, "current": next(link for link in links if link["is_here"])}
