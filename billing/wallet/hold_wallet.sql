-- Pays for one message: the wallet, the day's and the country's hourly budget and the key's limit
-- must have room. The condition of the UPDATE keeps parallel sends from spending a token twice; no
-- row returned means that nothing was written.
paid AS (
UPDATE billing_wallet wallet
SET available = wallet.available - allowed.price, held = wallet.held + allowed.price,
  day = GREATEST(wallet.day, period.today), day_tokens = {day_used} + allowed.price,
  hour = GREATEST(wallet.hour, period.hour), hour_tokens = {hour_base}
    || jsonb_build_object(allowed.country, {hour_used} + allowed.price),
  key_tokens = {key_base} || jsonb_build_object({api_key}, {key_used} + allowed.price)
FROM allowed CROSS JOIN ({period}) AS period
WHERE wallet.company_id = allowed.company_id AND wallet.available >= allowed.price
  AND {day_used} + allowed.price <= allowed.day_budget
  AND {hour_used} + allowed.price <= allowed.hour_budget
  AND {key_used} + allowed.price <= allowed.key_limit
RETURNING allowed.*)
