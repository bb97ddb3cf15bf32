-- Settles releases, and captures with them, after `settle.sql`. Releases in the day and hour of the
-- hold also refund these budgets: a vendor's failures must not use up a company's budget.
period AS ({period}),
refund AS (
  SELECT settlement.company_id, requested.country, requested.api_key,
    sum(settlement.amount) FILTER (
      WHERE (held.created_at AT TIME ZONE %(time_zone)s::text)::date = period.today) AS day,
    COALESCE(sum(settlement.amount) FILTER (WHERE held.created_at >= period.hour), 0) AS hour
  FROM period, settlement JOIN requested USING (message_id, hold, kind)
    JOIN billing_transfer held USING (message_id, hold)
  WHERE settlement.kind = 'release' AND held.kind = 'hold'
    AND held.message_id BETWEEN :first_id AND :last_id
  GROUP BY settlement.company_id, requested.country, requested.api_key),
company_refund AS (
  SELECT company_id, COALESCE(sum(day), 0) AS day,
    (SELECT jsonb_object_agg(country, hour)
     FROM (SELECT country, sum(hour) AS hour FROM refund
           WHERE company_id = company.company_id GROUP BY country) AS of_country) AS hours,
    (SELECT jsonb_object_agg(api_key, day)
     FROM (SELECT api_key, COALESCE(sum(day), 0) AS day FROM refund
           WHERE company_id = company.company_id GROUP BY api_key) AS of_key) AS keys
  FROM refund AS company GROUP BY company_id)
UPDATE billing_wallet wallet
SET held = wallet.held - company_total.settled,
  available = wallet.available + company_total.returned, moved_at = locked.at,
  day_tokens = CASE WHEN wallet.day = period.today THEN GREATEST(0,
    wallet.day_tokens - COALESCE(company_refund.day, 0)) ELSE wallet.day_tokens END,
  hour_tokens = CASE WHEN wallet.hour = period.hour THEN wallet.hour_tokens || COALESCE((
    SELECT jsonb_object_agg(country.key, GREATEST(
      0, COALESCE((wallet.hour_tokens->>country.key)::bigint, 0) - country.value::bigint))
    FROM jsonb_each_text(company_refund.hours) AS country), '{}') ELSE wallet.hour_tokens END,
  key_tokens = CASE WHEN wallet.day = period.today THEN wallet.key_tokens || COALESCE((
    SELECT jsonb_object_agg(api_key.key, GREATEST(
      0, COALESCE((wallet.key_tokens->>api_key.key)::bigint, 0) - api_key.value::bigint))
    FROM jsonb_each_text(company_refund.keys) AS api_key), '{}') ELSE wallet.key_tokens END
FROM company_total JOIN locked USING (company_id)
  LEFT JOIN company_refund USING (company_id) CROSS JOIN period
WHERE wallet.company_id = company_total.company_id
