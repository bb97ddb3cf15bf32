-- Partitions that have at least doubled. The role may not have been granted the function yet.
SELECT partition.relname
FROM pg_class partition JOIN pg_stat_user_tables statistics ON statistics.relid = partition.oid
WHERE partition.relname = ANY(%s) AND partition.relispartition AND partition.reltuples < %s
  AND statistics.n_mod_since_analyze >= GREATEST(%s, partition.reltuples)
  AND has_function_privilege('analyze_month_partition(regclass)', 'EXECUTE')
ORDER BY partition.relname
