"""The SQL by which the statements that accept messages pay for them; see `holds.sql`."""

from billing.budgets import sql
from storage.statements import sql_files

_SQL = sql_files.read_several("billing/wallet/holds.sql")
FREE = _SQL["free"]
OPEN_HOLD = _SQL["open_hold"]


def _fill(name: str, *, country: str, key: str, **texts: str) -> str:
    return sql_files.fill(
        sql_files.read(f"billing/wallet/{name}.sql"),
        period=sql.PERIOD,
        day_used=sql.DAY_USED,
        hour_base=sql.HOUR_BASE,
        hour_used=sql.hour_used(country),
        key_base=sql.KEY_BASE,
        key_used=sql.key_used(key),
        **texts,
    )


def _hold_wallets(unlocked: str = "") -> str:
    return _fill(
        "hold_wallets",
        country="country.key",
        key="api_key.key",
        no_key=sql.NO_KEY,
        unlocked=unlocked,
    )


_KEY = f"COALESCE(allowed.api_key_id, {sql.NO_KEY})::text"
HOLD_WALLET = _fill("hold_wallet", country="allowed.country", key=_KEY, api_key=_KEY)
HOLD_WALLETS = _hold_wallets()
HOLD_UNLOCKED_WALLETS = _hold_wallets(_SQL["unlocked_wallets"])
