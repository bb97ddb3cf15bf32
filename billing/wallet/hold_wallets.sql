-- Pays as `hold_wallet.sql` does, for several messages: of each company all are paid, or none. For
-- one message it takes 70 µs more.
debited_wallet AS (
UPDATE billing_wallet wallet
SET available = wallet.available - bill.tokens, held = wallet.held + bill.tokens,
  day = GREATEST(wallet.day, period.today), day_tokens = {day_used} + bill.tokens,
  hour = GREATEST(wallet.hour, period.hour), hour_tokens = {hour_base} || (
    SELECT jsonb_object_agg(country.key, {hour_used} + country.value::bigint)
    FROM jsonb_each_text(bill.hour_tokens) AS country),
  key_tokens = {key_base} || (
    SELECT jsonb_object_agg(api_key.key, {key_used} + api_key.value::bigint)
    FROM jsonb_each_text(by_key.tokens) AS api_key)
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
  FROM (SELECT company_id, COALESCE(api_key_id, {no_key})::text AS key,
          sum(price)::bigint AS tokens, min(key_limit) AS tokens_a_day
        FROM allowed GROUP BY company_id, api_key_id) AS of_key
  GROUP BY company_id) AS by_key USING (company_id) {unlocked} CROSS JOIN ({period}) AS period
WHERE wallet.company_id = bill.company_id AND wallet.available >= bill.tokens
  AND {day_used} + bill.tokens <= bill.day_budget
  AND NOT EXISTS (
    SELECT FROM jsonb_each_text(bill.hour_tokens) AS country
    WHERE {hour_used} + country.value::bigint > (bill.hour_budgets->>country.key)::bigint)
  AND NOT EXISTS (
    SELECT FROM jsonb_each_text(by_key.tokens) AS api_key
    WHERE {key_used} + api_key.value::bigint > (by_key.limits->>api_key.key)::bigint)
RETURNING wallet.company_id),
paid AS (SELECT allowed.* FROM allowed JOIN debited_wallet USING (company_id))
