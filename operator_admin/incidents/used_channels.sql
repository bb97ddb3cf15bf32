-- The channels that a company uses, from its newest messages and its counted days, by their
-- indexes.
SELECT channel FROM (
  SELECT channel FROM channels_message WHERE company_id = %(company)s AND mode = 'live'
  ORDER BY created_at DESC, id DESC LIMIT 500) newest
UNION SELECT channel FROM channels_daycount
WHERE company_id = %(company)s AND mode = 'live' AND day > current_date - 30
