--: counts: what a database has done, in the order of `_NAMES`
SELECT xact_commit, tuples.*, wal_bytes, wal_records, wal_fpi,
  (SELECT COALESCE(sum(fsyncs), 0) FROM pg_stat_io WHERE object = 'wal')
FROM pg_stat_database, pg_stat_wal, (SELECT sum(n_tup_ins), sum(n_tup_upd), sum(n_tup_hot_upd),
  sum(n_tup_del) FROM pg_stat_user_tables) tuples WHERE datname = current_database()
