-- The accounts, and whether each is available by the time that a send might wait.
SELECT name, credentials, prefixes,
  open_until IS NOT NULL OR max_per_second IS NOT NULL AS is_limited,
  is_enabled AND COALESCE(open_until, now()) <= now() + make_interval(secs => %s) AS is_available
FROM channels_provideraccount
