--: weights
SELECT regexp_replace(relname, '_([0-9]{4}_[0-9]{2}|other)$', ''), sum(pg_total_relation_size(oid))
FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
GROUP BY 1 ORDER BY 2 DESC LIMIT 12
