"""The channels that a company allows for a country and a purpose, and their order.

A field that a rule leaves open comes from the next matching rule: by country and purpose, by
country, by purpose, then for all. A field that no rule sets is the company's default channel and
fallback chain.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.keys.principal import Fallback, PolicyRule, Principal
from billing import message_prices
from catalogue.channels import BY_NAME, Channel
from catalogue.errors import DomainError, Error
from channels.phone_numbers import country_of
from channels.providers.base import Content
from channels.vendor_accounts import registry

ALL = ""  # any country, or any purpose


@dataclass(frozen=True, slots=True)
class SendPolicy:
    """The merged rules for one send."""

    order: Sequence[Channel]  # the channels to choose the first one from
    fallback: Fallback | None
    barred: frozenset[str] = frozenset()
    max_cost: int | None = None  # in tokens; `fallback` has its own for its chain
    locale: str = ""
    has_matching_rule: bool = False
    is_smart: bool = False  # the learned router sets order and patience of codes

    @property
    def next_max_cost(self) -> int | None:
        """The maximum cost, in tokens, of the channels after the first."""
        if self.fallback is None or self.fallback.max_cost is None:
            return self.max_cost
        return self.fallback.max_cost


def policy_for(principal: Principal, phone: str, purpose: str) -> SendPolicy:
    """The policy for a send; `purpose` is empty for a link."""
    order = channel_order(principal.default_channel, principal.fallback)
    standard = SendPolicy(order, principal.fallback)
    if not principal.policy:
        return standard
    keys = matching_keys(principal, country_of(phone), purpose)
    rules = [principal.policy[key] for key in keys]
    return _with_rule(standard, merged(rules)) if rules else standard


def matching_keys(principal: Principal, country: str, purpose: str) -> list[tuple[str, str]]:
    """The countries and purposes of the matching rules, most specific first."""
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


def locale_for(principal: Principal, phone: str, purpose: str) -> str:
    """The language of a message whose request has none."""
    return policy_for(principal, phone, purpose).locale or principal.language


def _with_rule(standard: SendPolicy, rule: PolicyRule) -> SendPolicy:
    barred = rule.barred or frozenset()
    order = standard.order
    fallback = standard.fallback
    if rule.channels is not None:
        order = [BY_NAME[name] for name in rule.channels if name in BY_NAME]
        fallback = Fallback(rule.channels) if len(rule.channels) > 1 else None
    if fallback is not None:
        own_patience = standard.fallback.patience if standard.fallback else {}
        max_cost = fallback.max_cost if rule.max_cost is None else rule.max_cost
        fallback = Fallback(
            tuple(name for name in fallback.chain if name not in barred),
            {**own_patience, **rule.patience},
            max_cost,
        )
    return replace(
        standard,
        order=[channel for channel in order if channel.name not in barred],
        fallback=fallback,
        barred=barred,
        max_cost=rule.max_cost,
        locale=rule.locale,
        has_matching_rule=True,
        is_smart=bool(rule.is_smart) and rule.channels is not None,
    )


class RequestedOrder(NamedTuple):
    """The channels requested for one send, within the company's policy."""

    channels: tuple[str, ...] = ()  # in this order, exclusively; empty: as in the policy
    patience: int | None = None  # seconds of each channel


NO_ORDER = RequestedOrder()


def with_requested_order(policy: SendPolicy, requested: RequestedOrder) -> SendPolicy:
    """The policy with the order and patience of one request. Barred channels stay barred, and the
    maximum cost holds. Its order is empty if all are barred.
    """
    if requested is NO_ORDER or requested == NO_ORDER:
        return policy
    fallback = policy.fallback
    if requested.channels:
        names = tuple(name for name in requested.channels if name not in policy.barred)
        patience = fallback.patience if fallback else {}
        fallback = Fallback(names, patience, policy.next_max_cost) if len(names) > 1 else None
        policy = replace(policy, order=[BY_NAME[name] for name in names])
    if fallback and requested.patience:
        fallback = fallback._replace(patience=dict.fromkeys(BY_NAME, requested.patience))
    return replace(policy, fallback=fallback, is_smart=False)


NO_PATIENCE = 60.0  # seconds; for the last step, after which nothing follows


def channel_order(default: str, fallback: Fallback | None = None) -> list[Channel]:
    """The company's default first, then its fallback chain, then the declared order."""
    chain = fallback.chain if fallback else ()
    names = dict.fromkeys((default, *chain, *BY_NAME))
    return [BY_NAME[name] for name in names if name in BY_NAME]


def channels_after(channel: Channel, fallback: Fallback) -> list[Channel]:
    """The rest of the chain after this channel; the whole chain for a channel outside it."""
    names = list(fallback.chain)
    if channel.name in names:
        del names[: names.index(channel.name) + 1]
    return [BY_NAME[name] for name in names if name in BY_NAME]


def fallback_channels(
    channel: Channel, fallback: Fallback, content: Content, mode: str, country: str = ""
) -> list[Channel]:
    """The next channels that can carry the content within the company's maximum cost."""
    return [
        following
        for following in channels_after(channel, fallback)
        if registry.carries(following, content, mode)
        and costs_at_most(following, fallback.max_cost, country)
    ]


def costs_at_most(channel: Channel, tokens: int | None, country: str) -> bool:
    """Whether the channel costs at most this.

    Live prices count in both modes, so that a test key behaves like a live one.
    """
    return tokens is None or message_prices.price_of(channel.name, country) <= tokens


def patience(fallback: Fallback | None, channel: Channel, kind: str) -> float:
    """Seconds a channel has to prove delivery before the next one is tried."""
    seconds = fallback.patience.get(channel.name) if fallback else None
    return float(seconds or getattr(channel.patience, kind))


def check_country(principal: Principal, phone: str) -> None:
    """Enforces the company's allowed countries; test keys spend no money, so they are exempt."""
    allowed = principal.allowed_countries
    country = country_of(phone)
    if allowed and country not in allowed and not principal.is_test:
        name = country or phone[:4]
        raise DomainError(
            Error.COUNTRY_NOT_ALLOWED,
            message=format_lazy(
                _(
                    "Sending to this country ({name}) is not switched on: add it in the cabinet, "
                    "Settings → Allowed countries"
                ),
                name=name,
            ),
            country=country,
        )
