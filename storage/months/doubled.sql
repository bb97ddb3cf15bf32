-- Partitions that have at least doubled. The role may not have been granted the function yet.
SELECT c.relname FROM pg_class c JOIN pg_stat_user_tables s ON s.relid = c.oid
WHERE c.relname = ANY(%s) AND c.relispartition AND c.reltuples < %s
  AND s.n_mod_since_analyze >= GREATEST(%s, c.reltuples)
  AND has_function_privilege('analyze_month_partition(regclass)', 'EXECUTE')
ORDER BY c.relname
