"""SQL fragments by which the statements that accept messages open their holds.

In them `allowed` has the messages to pay for, and `payer` those that are paid, with their columns.
The keys `transfer_hold_once` and `transfer_one_capture` see to it that a hold is opened and settled
once, and a message charged once.
"""

from billing.budgets import sql
from storage.statements import sql_files

# Test keys pay nothing.
FREE_PAYER = """
payer AS (SELECT * FROM allowed)"""

HOLD_TRANSFER = """
INSERT INTO billing_transfer (company_id, kind, amount, message_id, hold, proof, reason)
SELECT company_id, 'hold', price, message_id, 1, '', '' FROM payer"""


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


def _hold_wallets(free: str = "") -> str:
    return _fill("hold_wallets", country="c.key", key="k.key", no_key=sql.NO_KEY, free=free)


_KEY = f"COALESCE(n.api_key_id, {sql.NO_KEY})::text"
HOLD_WALLET = _fill("hold_wallet", country="n.country", key=_KEY, api_key=_KEY)
HOLD_WALLETS = _hold_wallets()
# Skips wallets locked by another transaction, so that no company waits for another.
HOLD_FREE_WALLETS = _hold_wallets(
    """JOIN (
    SELECT company_id FROM billing_wallet WHERE company_id IN (SELECT company_id FROM allowed)
    FOR UPDATE SKIP LOCKED) AS free USING (company_id)"""
)
