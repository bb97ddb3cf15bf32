-- Parts of `claim.sql`, used if a rate limit, or the single probe of a half-open breaker, bounds
-- the claims of an account.

-- The number of messages an account's rate allows right now: GCRA with a burst of a tenth of a
-- second.
--: rate_allowance
floor(1e-6 + max_per_second * (GREATEST(0.1, 1.0 / max_per_second)
  - GREATEST(0, EXTRACT(epoch FROM COALESCE(tat, now()) - now()))))

-- Locks these accounts first, so that concurrent workers share the allowance.
--: counted
counted AS MATERIALIZED (
  SELECT name, CASE WHEN open_until IS NOT NULL THEN trips END AS trips, LEAST(
      CASE WHEN open_until IS NOT NULL THEN 1 END,
      CASE WHEN max_per_second IS NOT NULL THEN {rate_allowance} END) AS allowance
  FROM channels_provideraccount
  WHERE is_enabled AND (open_until IS NOT NULL OR max_per_second IS NOT NULL)
    AND (open_until IS NULL OR (open_until <= now() AND (
      probed_at IS NULL OR probed_at < now() - make_interval(secs => %(lease)s))))
    AND (max_per_second IS NULL OR {rate_allowance} >= 1)
    AND EXISTS (SELECT FROM channels_openmessage WHERE due_at <= now())
  ORDER BY name FOR UPDATE),

-- The due messages within each account's allowance; takes the allowance in the same statement.
--: picked
picked AS (
  SELECT * FROM (
    SELECT *, row_number() OVER (PARTITION BY provider ORDER BY priority, due_at) AS row_number
    FROM due_message) AS ranked
  WHERE allowance IS NULL OR row_number <= allowance),
used AS (
  UPDATE channels_provideraccount account SET
    tat = GREATEST(account.tat, now())
      + make_interval(secs => total.count::float / account.max_per_second),
    probed_at = CASE WHEN account.open_until IS NULL THEN NULL ELSE now() END
  FROM (SELECT provider, count(*) AS count FROM picked WHERE allowance IS NOT NULL GROUP BY 1) total
  WHERE account.name = total.provider),
