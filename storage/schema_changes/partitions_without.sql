-- The partitions that lack an index of their parent. One created after the parent's index has it
-- already, under another name.
SELECT class.relname FROM pg_partition_tree(to_regclass(quote_ident(%s))) partition
JOIN pg_class class ON class.oid = partition.relid
WHERE partition.isleaf AND NOT EXISTS (
  SELECT FROM pg_inherits inheritance JOIN pg_index index ON index.indexrelid = inheritance.inhrelid
  WHERE inheritance.inhparent = to_regclass(quote_ident(%s)) AND index.indrelid = partition.relid)
ORDER BY class.relname
