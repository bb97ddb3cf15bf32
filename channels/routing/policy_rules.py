"""Which of a company's rules match a send, and how they combine: the most specific first."""

from collections.abc import Sequence

from accounts.keys.principal import PolicyRule, Principal

ALL = ""


def matching_keys(principal: Principal, country: str, purpose: str) -> list[tuple[str, str]]:
    """The keys of the matching rules, most specific first."""
    keys = dict.fromkeys([(country, purpose), (country, ALL), (ALL, purpose), (ALL, ALL)])
    return [key for key in keys if key in principal.policy]


def merged(rules: Sequence[PolicyRule]) -> PolicyRule:
    """Merges several rules, most specific first."""
    result = PolicyRule()
    for rule in rules:
        result = PolicyRule(
            channels=rule.channels if result.channels is None else result.channels,
            patience={**rule.patience, **result.patience},
            max_cost=rule.max_cost if result.max_cost is None else result.max_cost,
            barred=rule.barred if result.barred is None else result.barred,
            locale=result.locale or rule.locale,
            is_smart=rule.is_smart if result.is_smart is None else result.is_smart,
        )
    return result
