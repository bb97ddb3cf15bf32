SELECT c.relname AS name, pg_get_indexdef(i.indexrelid) AS definition, i.indisunique AS is_unique,
  i.indisprimary AS is_primary, a.attnum = ANY(i.indkey) AS has_key
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attname = %s
WHERE i.indrelid = %s::regclass ORDER BY c.relname
