"""Words for the rules of a policy."""

from collections.abc import Iterable

from django import template

from accounts.people import countries
from channels.routing.policy_rules import StoredRule
from config.channels import BY_NAME, Channel

register = template.Library()


@register.filter
def country_name(code: str) -> str:
    return countries.name(code)


@register.filter
def in_turn(channels: Iterable[str | Channel]) -> str:
    """«one → another»"""
    return " → ".join(_titles(channels))


@register.filter
def listed(channels: Iterable[str | Channel]) -> str:
    """«one, another»"""
    return ", ".join(_titles(channels))


@register.filter
def patience_words(rule: StoredRule) -> list[tuple[str, int]]:
    return [(str(BY_NAME[name].title), seconds) for name, seconds in (rule.patience or {}).items()]


def _titles(channels: Iterable[str | Channel]) -> list[str]:
    return [str((BY_NAME[one] if isinstance(one, str) else one).title) for one in channels]
