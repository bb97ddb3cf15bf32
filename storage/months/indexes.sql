-- A table's indexes, with whether each contains the column of the partition key.
SELECT class.relname AS name, pg_get_indexdef(index.indexrelid) AS definition,
  index.indisunique AS is_unique, index.indisprimary AS is_primary,
  attribute.attnum = ANY(index.indkey) AS has_key
FROM pg_index index JOIN pg_class class ON class.oid = index.indexrelid
JOIN pg_attribute attribute ON attribute.attrelid = index.indrelid AND attribute.attname = %s
WHERE index.indrelid = %s::regclass ORDER BY class.relname
