-- Opens a breaker. Calls that were running when it opened fail too and must change nothing: only a
-- probe reopens it.
--: trip
INSERT INTO channels_provideraccount AS account
  (name, position, opened_at, open_until, trips, reason)
VALUES (%(name)s, %(position)s, now(), now() + make_interval(secs => %(pause)s), 1, %(reason)s)
ON CONFLICT (name) DO UPDATE SET
  opened_at = COALESCE(account.opened_at, now()), open_until = excluded.open_until,
  probed_at = NULL, trips = account.trips + 1, reason = excluded.reason
WHERE account.open_until IS NULL OR %(is_probe)s
RETURNING trips

-- Closes an open breaker.
--: close
UPDATE channels_provideraccount
SET opened_at = NULL, open_until = NULL, probed_at = NULL, trips = 0, reason = ''
WHERE name = %s AND open_until IS NOT NULL
