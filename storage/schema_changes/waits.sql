-- The lock that a session waits for.
--: wait
SELECT lower(regexp_replace(mode, '([a-z])([A-Z])', '\1 \2', 'g')) AS mode,
       COALESCE(relation::regclass::text, 'a transaction') AS target
FROM pg_locks WHERE pid = %s AND NOT granted LIMIT 1

-- The oldest transactions that block a session.
--: blockers
SELECT pid, COALESCE(usename::text, backend_type) AS role,
       COALESCE(state, 'unknown state') AS state,
       COALESCE(EXTRACT(epoch FROM clock_timestamp() - xact_start)::int, 0) AS seconds
FROM pg_stat_activity WHERE pid = ANY(pg_blocking_pids(%s)) ORDER BY xact_start LIMIT 3

-- How far a session has built its index.
--: progress
SELECT index_relid::regclass::text AS name, phase, 100 * blocks_done / blocks_total AS percent
FROM pg_stat_progress_create_index WHERE pid = %s AND blocks_total > 0
