-- A transaction may commit long after younger ones, so neither a time nor the largest id seen tells
-- what is new. A transaction that a later snapshot sees and an earlier one does not has at least
-- the earlier one's xmin as its id. Both bounds let a generic plan expect few rows; the upper one
-- excludes ids that a restored dump brought from another server. The DELETE makes a read-only
-- server fail, such as a demoted primary that still holds our connection
-- (`storage.primary_connection`).
WITH write_check AS (DELETE FROM accounts_companychange WHERE false)
SELECT pg_postmaster_start_time() AS server,
  pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest_running,
  change.transaction_id, change.company_id
FROM (SELECT) AS snapshot LEFT JOIN accounts_companychange change ON change.transaction_id >= %s
  AND change.transaction_id < pg_snapshot_xmax(pg_current_snapshot())::text::bigint
