-- Companies with spending or budgets; the latter may have to be cleared.
--: companies
SELECT company_id FROM billing_spentday UNION SELECT company_id FROM billing_budget
UNION SELECT id FROM accounts_company WHERE budgets <> '{}' ORDER BY 1

-- Sets usual budgets from the busiest day and hours; returns the number of companies changed.
--: update
WITH peaks AS (
  SELECT company_id, '' AS country, max(tokens) AS most
  FROM (SELECT company_id, sum(tokens) AS tokens FROM billing_spentday
        WHERE company_id = ANY(%(ids)s) GROUP BY company_id, day) of_day
  GROUP BY company_id
  UNION ALL
  SELECT company_id, country, max(busiest_hour) FROM billing_spentday
  WHERE company_id = ANY(%(ids)s) GROUP BY company_id, country),
cleared AS (
  UPDATE billing_budget budget SET usual_tokens = NULL
  WHERE company_id = ANY(%(ids)s) AND usual_tokens IS NOT NULL AND NOT EXISTS (
    SELECT FROM peaks WHERE peaks.company_id = budget.company_id AND peaks.country = budget.country)
  RETURNING company_id),
updated AS (
  INSERT INTO billing_budget AS budget (company_id, country, usual_tokens)
  SELECT company_id, country, most * %(times)s FROM peaks ORDER BY company_id, country
  ON CONFLICT (company_id, country) DO UPDATE SET usual_tokens = EXCLUDED.usual_tokens
    WHERE budget.usual_tokens IS DISTINCT FROM EXCLUDED.usual_tokens
  RETURNING company_id)
SELECT count(*)
FROM (SELECT company_id FROM cleared UNION SELECT company_id FROM updated) AS changed

-- Copies budgets to the companies' rows, from which sends read them.
--: publish
UPDATE accounts_company company SET budgets = current.budgets
FROM (SELECT ids.id, COALESCE((
        SELECT jsonb_object_agg(country, jsonb_build_array(fixed_tokens, usual_tokens))
        FROM billing_budget WHERE company_id = ids.id), '{}') AS budgets
      FROM unnest(%s::bigint[]) AS ids(id)) AS current
WHERE company.id = current.id AND company.budgets <> current.budgets

-- The balance, and what the day, the key and the hour have used, with the ends of their periods.
--: usage_now
SELECT wallet.available, {day_used} AS day_used, {day_ends} AS day_ends,
  {key_used} AS key_used,
  {hour_used} AS hour_used, {hour_ends} AS hour_ends, now() AS now
FROM billing_wallet wallet, ({period}) AS period
WHERE wallet.company_id = %(company_id)s

-- The usage of the day's budget, then of each country in use or with a budget, most used first.
--: usage_by_country
SELECT listed.country, CASE WHEN listed.country = '' THEN {day_used}
    ELSE {hour_used_there} END AS used,
  CASE WHEN listed.country = '' THEN budget.day ELSE budget.hour END AS tokens,
  CASE WHEN listed.country = '' THEN {day_ends} ELSE {hour_ends} END AS resets_at,
  (SELECT fixed_tokens FROM billing_budget country_budget
   WHERE country_budget.company_id = %(company_id)s AND country_budget.country = listed.country)
FROM (SELECT '' AS country UNION SELECT unnest(%(countries)s::text[])
      UNION SELECT country FROM billing_budget
        WHERE company_id = %(company_id)s AND country <> '*'
          AND (fixed_tokens > -1 OR usual_tokens > -1)
      UNION SELECT key FROM billing_wallet wallet, jsonb_each_text(wallet.hour_tokens)
        WHERE wallet.company_id = %(company_id)s
          AND wallet.hour >= date_trunc('hour', now())) AS listed
  CROSS JOIN ({period}) AS period
  LEFT JOIN billing_wallet wallet ON wallet.company_id = %(company_id)s
  CROSS JOIN LATERAL ({effective_budgets}) AS budget
ORDER BY listed.country = '' DESC, used DESC, listed.country
