-- Pays for one message: the wallet, the day's and the country's hourly budget and the key's limit
-- must have room. The condition of the UPDATE keeps parallel sends from spending a token twice; no
-- row returned means that nothing was written.
paid AS (
UPDATE billing_wallet wallet
SET available = wallet.available - n.price, held = wallet.held + n.price,
  day = GREATEST(wallet.day, period.today), day_tokens = {day_used} + n.price,
  hour = GREATEST(wallet.hour, period.hour), hour_tokens = {hour_base}
    || jsonb_build_object(n.country, {hour_used} + n.price),
  key_tokens = {key_base} || jsonb_build_object({api_key}, {key_used} + n.price)
FROM allowed n CROSS JOIN ({period}) AS period
WHERE wallet.company_id = n.company_id AND wallet.available >= n.price
  AND {day_used} + n.price <= n.day_budget
  AND {hour_used} + n.price <= n.hour_budget
  AND {key_used} + n.price <= n.key_limit
RETURNING n.*)
