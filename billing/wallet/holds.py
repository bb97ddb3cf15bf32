"""SQL fragments by which the statements that accept messages open their holds.

In them `allowed` has the messages to pay for, and `payer` those that are paid, with their columns.
"""

from billing.budgets import sql

# The condition in the UPDATE keeps parallel sends from spending a token twice; no row means that
# nothing was written.
_KEY = f"COALESCE(n.api_key_id, {sql.NO_KEY})::text"
HOLD_WALLET = f"""
payer AS (
UPDATE billing_wallet w SET available = w.available - n.price, held = w.held + n.price,
  day = GREATEST(w.day, p.today), day_tokens = {sql.DAY_USED} + n.price,
  hour = GREATEST(w.hour, p.hour), hour_tokens = {sql.HOUR_BASE}
    || jsonb_build_object(n.country, {sql.hour_used("n.country")} + n.price),
  key_day = GREATEST(w.key_day, p.today), key_tokens = {sql.KEY_BASE}
    || jsonb_build_object({_KEY}, {sql.key_used(_KEY)} + n.price)
FROM allowed n CROSS JOIN ({sql.PERIOD}) AS p
WHERE w.company_id = n.company_id AND w.available >= n.price
  AND {sql.DAY_USED} + n.price <= n.day_budget
  AND {sql.hour_used("n.country")} + n.price <= n.hour_budget
  AND {sql.key_used(_KEY)} + n.price <= n.key_limit
RETURNING n.*)"""  # noqa: S608

# With a test key nothing is paid.
FREE_PAYER = """
payer AS (SELECT * FROM allowed)"""

HOLD_TRANSFER = """
INSERT INTO billing_transfer (company_id, kind, amount, message_id, hold, proof, reason)
SELECT company_id, 'hold', price, message_id, 1, '', '' FROM payer"""


# As HOLD_WALLET, for several messages: a company pays for all of its own or for none. For one it
# costs 70 µs more.
def _hold_wallets(free: str = "") -> str:
    return f"""
charged AS (
UPDATE billing_wallet w SET available = w.available - bill.tokens, held = w.held + bill.tokens,
  day = GREATEST(w.day, p.today), day_tokens = {sql.DAY_USED} + bill.tokens,
  hour = GREATEST(w.hour, p.hour), hour_tokens = {sql.HOUR_BASE} || (
    SELECT jsonb_object_agg(c.key, {sql.hour_used("c.key")} + c.value::bigint)
    FROM jsonb_each_text(bill.hour_tokens) AS c),
  key_day = GREATEST(w.key_day, p.today), key_tokens = {sql.KEY_BASE} || (
    SELECT jsonb_object_agg(k.key, {sql.key_used("k.key")} + k.value::bigint)
    FROM jsonb_each_text(by_key.tokens) AS k)
FROM (
  SELECT company_id, sum(tokens)::bigint AS tokens, min(day_budget) AS day_budget,
    jsonb_object_agg(country, tokens) AS hour_tokens,
    jsonb_object_agg(country, hour_budget) AS hour_budgets
  FROM (SELECT company_id, country, sum(price)::bigint AS tokens, min(day_budget) AS day_budget,
          min(hour_budget) AS hour_budget
        FROM allowed GROUP BY company_id, country) AS of_country
  GROUP BY company_id) AS bill JOIN (
  SELECT company_id, jsonb_object_agg(key, tokens) AS tokens, jsonb_object_agg(key, tokens_a_day)
    AS limits
  FROM (SELECT company_id, COALESCE(api_key_id, {sql.NO_KEY})::text AS key,
          sum(price)::bigint AS tokens, min(key_limit) AS tokens_a_day
        FROM allowed GROUP BY company_id, api_key_id) AS of_key
  GROUP BY company_id) AS by_key USING (company_id) {free} CROSS JOIN ({sql.PERIOD}) AS p
WHERE w.company_id = bill.company_id AND w.available >= bill.tokens
  AND {sql.DAY_USED} + bill.tokens <= bill.day_budget
  AND NOT EXISTS (
    SELECT 1 FROM jsonb_each_text(bill.hour_tokens) AS c
    WHERE {sql.hour_used("c.key")} + c.value::bigint > (bill.hour_budgets->>c.key)::bigint)
  AND NOT EXISTS (
    SELECT 1 FROM jsonb_each_text(by_key.tokens) AS k
    WHERE {sql.key_used("k.key")} + k.value::bigint > (by_key.limits->>k.key)::bigint)
RETURNING w.company_id),
payer AS (SELECT allowed.* FROM allowed JOIN charged USING (company_id))"""  # noqa: S608


HOLD_WALLETS = _hold_wallets()
# Leaves out those that another transaction has locked, so no company waits for another.
HOLD_FREE_WALLETS = _hold_wallets(
    """JOIN (
    SELECT company_id FROM billing_wallet WHERE company_id IN (SELECT company_id FROM allowed)
    FOR UPDATE SKIP LOCKED) AS free USING (company_id)"""
)
