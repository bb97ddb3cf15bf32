-- Sends a link: one statement, one commit, and nothing is written unless the wallet paid.
-- {message_columns}: the columns of every message; {blocking_row}: a query of `blocked_phones`;
-- {payer}: CTEs that charge the wallet and return the paid row of `allowed`; {link}, {message}: the
-- inserts; {more}: the inserts of a hold and an Idempotency-Key.
WITH requested AS NOT MATERIALIZED (
  SELECT {message_columns}, %(link_id)s::uuid AS subject_id, %(params)s::jsonb AS message_params,
    now() + make_interval(secs => %(hold_seconds)s) AS useful_until),
allowed AS (
  SELECT * FROM requested n
  WHERE NOT EXISTS ({blocking_row})),
{payer},
link AS ({link}),
message AS ({message}){more}
SELECT EXISTS (SELECT FROM payer) AS is_paid, NOT EXISTS (SELECT FROM allowed) AS is_blocked
