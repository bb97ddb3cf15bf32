"""The shares of interchangeable accounts, moved towards accounts with more entered codes.

Only accounts of one channel of the same `position` and without prefixes of their own are
compared: the account of a message is drawn at random, so they reach the same people.
"""

from collections import defaultdict
from collections.abc import Mapping

from channels.models import ProviderAccount
from channels.routing.smart.account_balance import AccountBalance
from channels.routing.smart.router import Router
from channels.vendor_accounts import registry

Group = tuple[str, str]  # position, channel
MIN_CHANGE = 0.001  # smaller changes of a factor are not stored


def groups() -> dict[Group, dict[str, float]]:
    """The operator's shares of each group of two or more accounts; they sum to 1.

    A paused account keeps its share and its counts.
    """
    weights: dict[Group, dict[str, int]] = defaultdict(dict)
    live = registry.live_providers()
    movable = ProviderAccount.objects.filter(is_share_fixed=False, prefixes=[])
    for account in movable.order_by("name"):
        if account.name in live:
            group = str(account.position), live[account.name].channel
            weights[group][account.name] = account.weight
    return {
        group: {name: weight / sum(shares.values()) for name, weight in shares.items()}
        for group, shares in weights.items()
        if len(shares) > 1
    }


def follow_accounts(router: Router, current: Mapping[Group, dict[str, float]]) -> None:
    """Starts over if the operator has changed something, keeping the counts of each account."""
    paused = frozenset(
        ProviderAccount.objects.filter(is_enabled=False).values_list("name", flat=True)
    )
    counts_by_account = {
        name: row for old in router.accounts.values() for name, row in old.counts.items()
    }
    for group, configured_shares in current.items():
        balance = router.accounts.get(group)
        if balance is None or balance.configured_shares != configured_shares:
            counts = {
                name: counts_by_account[name]
                for name in configured_shares
                if name in counts_by_account
            }
            balance = router.accounts[group] = AccountBalance(configured_shares, counts=counts)
        balance.paused = paused
    for group in router.accounts.keys() - current.keys():
        del router.accounts[group]


def record(router: Router, now: float, account: str, *, verified: bool) -> None:
    for balance in router.accounts.values():
        if account in balance.configured_shares:
            balance.record(now, account, verified=verified)


def write_factors(router: Router) -> None:
    """Writes the changed factors for the next claim, each row by itself."""
    factors = {
        name: balance.shares[name] / share
        for balance in router.accounts.values()
        for name, share in balance.configured_shares.items()
    }
    for name, stored_factor in ProviderAccount.objects.order_by("name").values_list(
        "name", "share_factor"
    ):
        factor = factors.get(name, 1.0)
        if abs(factor - stored_factor) > MIN_CHANGE:
            ProviderAccount.objects.filter(name=name).update(share_factor=factor)
