-- Writes a heartbeat, and deletes the rows of processes that were silent for an hour.
WITH silent AS (DELETE FROM channels_heartbeat WHERE at < now() - interval '1 hour')
INSERT INTO channels_heartbeat (process, kind, at, details)
VALUES (%s, %s, clock_timestamp(), %s::jsonb)
ON CONFLICT (process) DO UPDATE SET at = excluded.at, details = excluded.details
