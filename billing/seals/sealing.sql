-- The start of the oldest transaction, less a margin.
-- pg_locks shows every role's transactions, pg_stat_activity the start of our own and, with
-- pg_read_all_stats, of all. A hidden start could be any time, and so could a prepared
-- transaction's. Processes of the server itself have no user, and write no transfers.
--: closed_until
SELECT LEAST(now() - make_interval(secs => %(margin)s),
  (SELECT min(CASE WHEN activity.query = '<insufficient privilege>' THEN '2000-01-01Z'
              ELSE activity.xact_start END)
   FROM pg_locks lock JOIN pg_stat_activity activity ON activity.pid = lock.pid
   WHERE lock.locktype = 'virtualxid' AND lock.mode = 'ExclusiveLock'
     AND lock.pid <> pg_backend_pid()
     AND activity.datname = current_database() AND activity.usesysid IS NOT NULL),
  (SELECT '2000-01-01Z'::timestamptz FROM pg_prepared_xacts
   WHERE database = current_database() LIMIT 1))

-- Companies with transfers in a period, by a loose index scan: few companies have many transfers.
--: companies
WITH RECURSIVE company AS (
  (SELECT company_id AS id FROM billing_transfer ORDER BY company_id LIMIT 1)
  UNION ALL
  SELECT (SELECT transfer.company_id FROM billing_transfer transfer
          WHERE transfer.company_id > company.id
          ORDER BY transfer.company_id LIMIT 1)
  FROM company WHERE company.id IS NOT NULL)
SELECT id FROM company WHERE EXISTS (
  SELECT FROM billing_transfer transfer WHERE transfer.company_id = company.id
    AND transfer.created_at >= %(since)s AND transfer.created_at < %(until)s) ORDER BY id
