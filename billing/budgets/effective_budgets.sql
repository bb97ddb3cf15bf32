-- A company's budgets for a day and for a country's hour: the fixed one, else the usual one, but at
-- least the floor.
SELECT COALESCE(max(fixed_tokens) FILTER (WHERE country = ''),
    GREATEST(max(usual_tokens) FILTER (WHERE country = ''), %(day_floor)s::bigint)) AS day,
  COALESCE(max(fixed_tokens) FILTER (WHERE country = {country}),
    GREATEST(max(usual_tokens) FILTER (WHERE country = {country}),
      COALESCE(max(fixed_tokens) FILTER (WHERE country = '*'), %(hour_floor)s::bigint))) AS hour
FROM billing_budget WHERE company_id = {company} AND country IN ('', '*', {country})
