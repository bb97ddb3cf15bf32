-- The columns of a table to copy, with an expression in place of the phone.
--: columns
SELECT string_agg(CASE attname WHEN 'phone' THEN %s ELSE quote_ident(attname) END, ', '
  ORDER BY attnum)
FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attname <> ALL(%s)

-- Whether the sums of a month differ from those recorded when it was archived.
--: differs
WITH actual AS ({sums}),
recorded AS (SELECT month_id, company_id, kind, transfers, tokens, last_at
  FROM billing_archivedsum WHERE month_id = %s)
SELECT EXISTS (
  (TABLE actual EXCEPT TABLE recorded) UNION ALL (TABLE recorded EXCEPT TABLE actual))
