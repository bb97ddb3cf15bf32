-- Counts towards a limit; no row if the count would exceed it.
INSERT INTO accounts_cacheentry AS used (key, value, expires_at)
SELECT %(key)s, to_jsonb(%(count)s::int), %(end)s WHERE %(count)s::int <= %(limit)s
ON CONFLICT (key) DO UPDATE SET value = to_jsonb(used.value::int + %(count)s::int)
WHERE used.value::int + %(count)s::int <= %(limit)s
