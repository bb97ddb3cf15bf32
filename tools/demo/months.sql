--: oldest
SELECT relname, pg_get_expr(relpartbound, pg_class.oid)
FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
WHERE inhparent = %s::regclass AND relname ~ '_[0-9]{4}_[0-9]{2}$' ORDER BY relname LIMIT 1
