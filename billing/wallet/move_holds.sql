-- Moves holds to the next channels' prices. Locks every wallet that the caller's transaction will
-- touch, ascending. The moves of a company are tried in order of cost, against the limits in turn:
-- the key's, the country's hour, the day, the wallet. Each limit counts only moves that passed the
-- previous one. A hold that exists already is an error: the message's own row would be wrong. A
-- cheaper step refunds the budgets as a release does.
WITH period AS ({period}),
wallet AS (
  SELECT company_id, available, day, day_tokens, hour, hour_tokens, key_tokens
  FROM billing_wallet
  WHERE company_id = ANY(%(all_companies)s::bigint[]) ORDER BY company_id FOR UPDATE),
requested AS (
  SELECT move.*, new_price - old_price AS change,
    CASE WHEN new_price >= old_price OR wallet.day = period.today
      AND (held.created_at AT TIME ZONE %(time_zone)s::text)::date = period.today
      THEN new_price - old_price ELSE 0 END AS day_change,
    CASE WHEN new_price >= old_price OR wallet.hour = period.hour AND held.created_at >= period.hour
      THEN new_price - old_price ELSE 0 END AS hour_change
  FROM period CROSS JOIN unnest(
      %(companies)s::bigint[], %(messages)s::uuid[], %(holds)s::smallint[],
      %(old_prices)s::bigint[], %(new_prices)s::bigint[], %(reasons)s::text[],
      %(countries)s::text[], %(keys)s::text[]) AS move(
        company_id, message_id, hold, old_price, new_price, reason, country, api_key)
    LEFT JOIN wallet USING (company_id) LEFT JOIN billing_transfer held
      ON held.message_id = move.message_id AND held.hold = move.hold AND held.kind = 'hold'
      AND held.message_id BETWEEN :first_id AND :last_id),
by_key AS (
  SELECT move.*, change <= 0 OR {key_used} + sum(day_change) OVER (
      PARTITION BY move.company_id, move.api_key ORDER BY change, message_id)
      <= COALESCE(sender.day_limit, {no_limit}) AS is_within_key
  FROM period CROSS JOIN requested move LEFT JOIN wallet USING (company_id)
    LEFT JOIN accounts_apikey sender ON sender.id = move.api_key::bigint),
by_hour AS (
  SELECT move.*, wallet.available, {day_used} AS day_used, budget.day AS day_budget,
    is_within_key AND (
      change <= 0 OR {hour_used} + sum(hour_change) FILTER (WHERE is_within_key) OVER (
        PARTITION BY move.company_id, move.country ORDER BY change, message_id) <= budget.hour)
      AS fits
  FROM period CROSS JOIN by_key move LEFT JOIN wallet USING (company_id)
    CROSS JOIN LATERAL ({effective_budgets}) AS budget),
by_day AS (
  SELECT move.*, fits AND (change <= 0 OR day_used + sum(day_change) FILTER (WHERE fits) OVER (
    PARTITION BY company_id ORDER BY change, message_id) <= day_budget) AS is_within
  FROM by_hour move),
evaluated AS (
  SELECT move.*, COALESCE(available >= CASE WHEN is_within THEN 0 ELSE change END
    + COALESCE(sum(change) FILTER (WHERE is_within) OVER (
        PARTITION BY company_id ORDER BY change, message_id), 0), false) AS is_affordable
  FROM by_day move),
paid AS (SELECT * FROM evaluated WHERE is_affordable AND is_within),
new_transfer AS (
  INSERT INTO billing_transfer (company_id, kind, amount, message_id, hold, proof, reason)
  SELECT company_id, 'release', old_price, message_id, hold, '', reason FROM paid
  WHERE old_price > 0
  UNION ALL
  SELECT company_id, 'hold', new_price, message_id, (hold + 1)::smallint, '', '' FROM paid
  WHERE new_price > 0),
changed AS (
  UPDATE billing_wallet wallet
  SET available = wallet.available - total.change, held = wallet.held + total.change,
    day = GREATEST(wallet.day, period.today),
    day_tokens = GREATEST(0, {day_used} + total.day_change),
    hour = GREATEST(wallet.hour, period.hour),
    hour_tokens = {hour_base} || (
      SELECT jsonb_object_agg(move.country, GREATEST(0, {hour_used} + move.hour_change))
      FROM (SELECT country, sum(hour_change)::bigint AS hour_change FROM paid
            WHERE paid.company_id = wallet.company_id GROUP BY country) AS move),
    key_tokens = {key_base} || (
      SELECT jsonb_object_agg(move.api_key, GREATEST(0, {key_used} + move.day_change))
      FROM (SELECT api_key, sum(day_change)::bigint AS day_change FROM paid
            WHERE paid.company_id = wallet.company_id GROUP BY api_key) AS move)
  FROM (SELECT company_id, sum(change) AS change, sum(day_change) AS day_change
        FROM paid GROUP BY company_id) AS total, period
  WHERE wallet.company_id = total.company_id)
SELECT message_id, is_affordable, is_within FROM evaluated
