-- Sends a link: one statement, one commit, and nothing is written unless the wallet paid.
-- {message_columns} are those of every message; {blocking_row} is of `blocked_phones`; {payer}:
-- the row of `allowed`, once paid, with what pays for it. {link}, {message}: the inserts. {more}: what
-- belongs to some sends, a hold or an Idempotency-Key.
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
