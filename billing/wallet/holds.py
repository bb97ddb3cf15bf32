"""SQL fragments by which the statements that accept messages open their holds.

In them `allowed` has the messages to pay for, and `payer` those that are paid, with their columns.
The keys `transfer_hold_once` and `transfer_one_capture` see to it that a hold is opened and settled
once, and a message charged once.
"""

from billing.budgets import sql
from storage.statements import sql_files

# The condition in the UPDATE keeps parallel sends from spending a token twice. No row returned
# means that nothing was written.
_KEY = f"COALESCE(n.api_key_id, {sql.NO_KEY})::text"
HOLD_WALLET = f"""
payer AS (
UPDATE billing_wallet wallet
SET available = wallet.available - n.price, held = wallet.held + n.price,
  day = GREATEST(wallet.day, period.today), day_tokens = {sql.DAY_USED} + n.price,
  hour = GREATEST(wallet.hour, period.hour), hour_tokens = {sql.HOUR_BASE}
    || jsonb_build_object(n.country, {sql.hour_used("n.country")} + n.price),
  key_tokens = {sql.KEY_BASE}
    || jsonb_build_object({_KEY}, {sql.key_used(_KEY)} + n.price)
FROM allowed n CROSS JOIN ({sql.PERIOD}) AS period
WHERE wallet.company_id = n.company_id AND wallet.available >= n.price
  AND {sql.DAY_USED} + n.price <= n.day_budget
  AND {sql.hour_used("n.country")} + n.price <= n.hour_budget
  AND {sql.key_used(_KEY)} + n.price <= n.key_limit
RETURNING n.*)"""  # noqa: S608

# Test keys pay nothing.
FREE_PAYER = """
payer AS (SELECT * FROM allowed)"""

HOLD_TRANSFER = """
INSERT INTO billing_transfer (company_id, kind, amount, message_id, hold, proof, reason)
SELECT company_id, 'hold', price, message_id, 1, '', '' FROM payer"""


def _hold_wallets(free: str = "") -> str:
    return sql_files.fill(
        sql_files.read("billing/wallet/hold_wallets.sql"),
        free=free,
        period=sql.PERIOD,
        day_used=sql.DAY_USED,
        hour_base=sql.HOUR_BASE,
        hour_used=sql.hour_used("c.key"),
        key_base=sql.KEY_BASE,
        key_used=sql.key_used("k.key"),
        no_key=sql.NO_KEY,
    )


HOLD_WALLETS = _hold_wallets()
# Skips wallets locked by another transaction, so that no company waits for another.
HOLD_FREE_WALLETS = _hold_wallets(
    """JOIN (
    SELECT company_id FROM billing_wallet WHERE company_id IN (SELECT company_id FROM allowed)
    FOR UPDATE SKIP LOCKED) AS free USING (company_id)"""
)
