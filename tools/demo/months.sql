--: oldest
SELECT c.relname, pg_get_expr(c.relpartbound, c.oid) FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = %s::regclass AND c.relname ~ '_[0-9]{4}_[0-9]{2}$' ORDER BY c.relname LIMIT 1
