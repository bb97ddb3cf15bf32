"""The principal of a call: the key and its company's settings, read as one SQL row."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any, NamedTuple

import orjson

from accounts.models import Company, GuardMode, scopes_of_role

COMPANY_DELETED = "deleted"  # replaces the status of a deleted company


class CompanyTexts(NamedTuple):
    bodies: Mapping[tuple[str, str, str], str]  # by language, purpose and channel; "" matches all
    webotp_host: str = ""  # lets a browser fill the code in on this site
    app_hash: str = ""  # lets this Android app read the SMS


NO_TEXTS = CompanyTexts({})


class TextsColumn(NamedTuple):
    sql: str  # an expression over the company's row `c`; NULL: no custom texts
    parse: Callable[[str], CompanyTexts]


_registered: list[TextsColumn] = []


def register_column(column: TextsColumn) -> None:
    _registered[:] = [column]


def column_sql() -> str:
    return _registered[0].sql if _registered else "NULL"


def texts_of(value: str | None) -> CompanyTexts:
    """Parses the value of the column."""
    return _registered[0].parse(value) if value else NO_TEXTS


class CompanyLimits(NamedTuple):
    """The send limits a company chose for itself; a None leaves the service's default."""

    cool_down: int | None = None
    codes_per_10_min: int | None = None
    codes_per_hour: int | None = None
    codes_per_day: int | None = None
    links_per_10_min: int | None = None
    links_per_day: int | None = None


NO_LIMITS = CompanyLimits()


class Fallback(NamedTuple):
    """The channels a company tries in turn when a request names none."""

    chain: tuple[str, ...]
    patience: Mapping[str, int] = {}  # seconds by channel; missing: the channel's own patience
    max_cost: int | None = None  # in tokens, of a message


class PolicyRule(NamedTuple):
    """A company's choices for a country and a purpose; a None leaves it to a broader rule."""

    channels: tuple[str, ...] | None = None  # the only channels to try, in this order
    patience: Mapping[str, int] = {}  # seconds by channel
    max_cost: int | None = None  # in tokens, of a message
    barred: frozenset[str] | None = None  # channels that are never used there
    locale: str = ""
    is_smart: bool | None = None  # channels and patience from the learned router


Policy = Mapping[tuple[str, str], PolicyRule]  # by country and purpose; "" matches all


class LinkRules(NamedTuple):
    """A company's settings for short links; empty: unset."""

    host: str = ""  # of new links
    targets: tuple[str, ...] = ()  # sites that they may lead to
    utm: str = ""  # a query string added to targets, with `{channel}`
    expired_url: str = ""  # where expired links redirect


NO_RULES = LinkRules()


class OpenRestriction(NamedTuple):
    """A restriction of sends in one scope by the guard; see `otp.models.GuardRestriction`."""

    kind: str  # of the scope
    value: str
    step: int  # of `channels.guard.guard.GuardStep`
    until: float  # seconds since 1970
    id: int


class GuardSettings(NamedTuple):
    """The company's guard mode, and the guard's open restrictions by kind and value of scope."""

    mode: str
    restrictions: Mapping[tuple[str, str], OpenRestriction] = {}


GUARD_OFF = GuardSettings(GuardMode.OFF)
Budgets = Mapping[str, tuple[int | None, int | None]]  # country → (fixed, usual), in tokens


def link_rules(company: Company) -> LinkRules:
    """The rules of a loaded company."""
    targets = tuple(company.link_targets)
    return LinkRules(company.link_host, targets, company.link_utm, company.link_expired_url)


@dataclass(frozen=True, slots=True)
class Principal:
    """The authenticated key and its company's settings; at most two seconds old."""

    key_id: int  # 0: the service itself
    mode: str
    scopes: frozenset[str]
    allowed_ips: tuple[str, ...]
    company_id: int
    company_status: str
    country: str
    language: str
    brand: str
    default_channel: str
    code_length: int
    allowed_countries: frozenset[str]  # empty: every country
    default_link_lifetime: int | None
    api_rate: int | None
    own_limits: CompanyLimits = NO_LIMITS
    fallback: Fallback | None = None  # None: one channel only
    policy: Policy = field(default_factory=dict)
    texts: CompanyTexts = NO_TEXTS
    link_rules: LinkRules = NO_RULES
    budgets: Budgets = field(default_factory=dict)  # as stored in the company's row
    day_limit: int | None = None  # tokens that this key may spend in a day
    guard: GuardSettings = GUARD_OFF
    # the purpose of its codes, for another service's client; empty: an ordinary key
    purpose: str = ""

    @property
    def is_test(self) -> bool:
        return self.mode == "test"

    def allows_ip(self, ip: str) -> bool:
        return not self.allowed_ips or is_within(self.allowed_ips, ip)


def is_within(networks: Iterable[str], ip: str) -> bool:
    try:
        address = ip_address(ip)
    except ValueError:  # a Unix socket has no address, and a proxy may send anything
        return False
    return any(address in _network(network) for network in networks)


@lru_cache(maxsize=4096)
def _network(text: str) -> IPv4Network | IPv6Network:
    return ip_network(text, strict=False)


_COPIED_COLUMNS = (
    *("key_id", "mode", "day_limit", "purpose", "company_id", "country", "language", "brand"),
    *("default_channel", "code_length", "default_link_lifetime", "api_rate"),
)


def principal_of(row: Mapping[str, Any]) -> Principal:
    limits = CompanyLimits(**{name: row[name] for name in CompanyLimits._fields})
    return Principal(
        **{name: row[name] for name in _COPIED_COLUMNS},
        scopes=scopes_of_role(row["creator_role"]).intersection(row["scopes"]),
        allowed_ips=tuple(row["allowed_ips"]),
        company_status=row["status"],
        allowed_countries=frozenset(row["allowed_countries"]),
        own_limits=NO_LIMITS if limits == NO_LIMITS else limits,
        fallback=_fallback(row),
        policy=policy_of(orjson.loads(row["policy"])),
        texts=texts_of(row["texts"]),
        link_rules=LinkRules(
            row["link_host"], tuple(row["link_targets"]), row["link_utm"], row["link_expired_url"]
        ),
        budgets=orjson.loads(row["budgets"]),
        guard=_guard(row["guard_mode"], orjson.loads(row["guard_restrictions"])),
    )


def _guard(mode: str, restrictions: Iterable[tuple[str, str, int, float, int]]) -> GuardSettings:
    if mode == GuardMode.OFF:
        return GUARD_OFF
    open_restrictions = {
        (kind, value): OpenRestriction(kind, value, step, until, restriction_id)
        for kind, value, step, until, restriction_id in restrictions
    }
    return GuardSettings(mode, open_restrictions)


def policy_of(stored: Iterable[Mapping[str, Any]]) -> Policy:
    """Parses `Company.policy`."""
    return {
        (rule["country"], rule["purpose"]): PolicyRule(
            channels=None if rule["channels"] is None else tuple(rule["channels"]),
            patience=rule["patience"],
            max_cost=rule["max_cost"],
            barred=None if rule["barred"] is None else frozenset(rule["barred"]),
            locale=rule["locale"],
            is_smart=rule.get("smart"),  # older rules lack it
        )
        for rule in stored
    }


def _fallback(row: Mapping[str, Any]) -> Fallback | None:
    if not row["fallback_chain"]:
        return None
    patience = orjson.loads(row["patience"])
    return Fallback(tuple(row["fallback_chain"]), patience, row["fallback_max_cost"])
