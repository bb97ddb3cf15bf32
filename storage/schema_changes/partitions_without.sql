-- A partition created after the parent's index already has one, under another name.
SELECT c.relname FROM pg_partition_tree(to_regclass(quote_ident(%s))) p
JOIN pg_class c ON c.oid = p.relid
WHERE p.isleaf AND NOT EXISTS (
  SELECT FROM pg_inherits h JOIN pg_index i ON i.indexrelid = h.inhrelid
  WHERE h.inhparent = to_regclass(quote_ident(%s)) AND i.indrelid = p.relid)
ORDER BY c.relname
